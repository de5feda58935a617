"""`agvent spark analyse`: the traffic of a log, as tables and one page with charts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from agvent.cli.spark_audit import seconds, sentence
from agvent.cli.spark_job import add_master, running

if TYPE_CHECKING:
    from agvent.spark.audits.audit import AuditVerdict

SUMMARY = "write tables and a report on the traffic of a log"

DESCRIPTION = """\
Analyse a log: events and deliveries by type, subscriber, broker and minute; latency
and hops; the load of links; the selectivity of each subscription; dead, hot and
duplicate subscriptions; losses around moves.

DIR gets report.html, which needs no network, and each table as Parquet and CSV.
"""

EPILOG = """\
The report begins with the audit's verdict. The verdict does not change the exit
code; for that, use `agvent spark audit`.

examples:
  agvent spark analyse day --out report
  agvent spark analyse day --out report --json --late-after 5

exit codes: 0 done, 2 a bad argument, 3 the log cannot be read, or Spark did not start
or failed, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="folder of an event log")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write; it must be new or empty")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--late-after", type=seconds, metavar="SECONDS", help="a delivery that took longer is late (default: 60)"
    )
    parser.add_argument(
        "--shared", metavar="DIR", help="a folder that every machine of the cluster sees, for the index"
    )
    add_master(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.spark.files.output_folder import check_free
    from agvent.store.log_reader import LogReader

    check_free(args.out)
    reader = LogReader(args.log)
    with running(args, app="agvent spark analyse") as (spark, _):
        from agvent.spark.analysis.analyse import analyse
        from agvent.spark.analysis.write_report import PAGE, write_report
        from agvent.spark.audits.audit import LATE_AFTER

        found = analyse(
            spark, reader, late_after=LATE_AFTER if args.late_after is None else args.late_after, shared=args.shared
        )
        verdict, tables = write_report(found, Path(args.out))
    page = str(Path(args.out) / PAGE)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(_summary(verdict, tables, page)), indent=0).decode())
    else:
        print(sentence(args.log, verdict) if verdict is not None else f"– {args.log}: the log records no deliveries")
        print(f"report: {page}")
    return 0


def _summary(verdict: AuditVerdict | None, tables: dict[str, Any], page: str) -> dict[str, Any]:
    states = tables["subscriptions"]["state"].to_pylist()
    groups = tables["groups"]
    saved = {name: sum(groups[name].to_pylist()) for name in groups.column_names if name.startswith("saved_")}
    return {
        "report": page,
        "audit": None if verdict is None else verdict.as_json(),
        "events": sum(tables["types"]["events"].to_pylist()),
        "deliveries": sum(tables["types"]["deliveries"].to_pylist()),
        "subscriptions": len(states),
        "dead": states.count("dead"),
        "hot": states.count("hot"),
        "duplicate_groups": groups.num_rows,
        **saved,
        "rows": {name: table.num_rows for name, table in tables.items()},
    }
