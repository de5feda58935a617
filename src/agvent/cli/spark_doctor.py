"""`agvent spark doctor`: can Spark run here, and if not, why?"""

from __future__ import annotations

import argparse
import os

import msgspec

SUMMARY = "check that Spark can run here, and list anything missing"

DESCRIPTION = """\
Check the packages, the Java and the disk space that Spark needs. This command
installs nothing; with --start it also starts Spark and runs a first job.
"""

EPILOG = """\
examples:
  agvent spark doctor
  agvent spark doctor --json
  agvent spark doctor --start --master spark://head:7077

exit codes: 0 Spark can run here, 1 something is missing, 3 Spark did not start
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object with all findings")
    parser.add_argument("--start", action="store_true", help="also start Spark and run a job")
    parser.add_argument("--master", metavar="URL", help="the cluster to start on (default: all cores of this machine)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.spark.runtime.doctor import diagnose, started
    from agvent.spark.runtime.workspace import cache_folder

    diagnosis = diagnose(os.environ, cache_folder(os.environ))
    if args.start and diagnosis.good:
        diagnosis = started(diagnosis, args.master)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(diagnosis), indent=0).decode())
    else:
        for one in diagnosis.findings:
            print(f"{'✓' if one.good else '✗'} {one.what}: {one.found}")
            if one.hint:
                print(f"    {one.hint}")
        print("Spark can run here." if diagnosis.good else "Spark cannot run here: see ✗ above.")
    return 0 if diagnosis.good else 1
