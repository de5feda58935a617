"""Plant small bugs in the package, one at a time, and see whether the simulator
finds them.

Each mutant of tests/mutants/*.toml is put into a copy of src/agvent, and seeds
of `agvent sim` run there until one has a violation, raises, or takes more than
a minute. A hunt ends with its last seed, or after a quarter of an hour of CPU.
The package without a mutant goes first: it must have no violation.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from page import made_by, replace_block
from tests.mutants.catalogue import ROOT, CatalogueError, Mutant, check, load, spread
from tests.mutants.hunt import limit_memory, prepare_kernels
from tests.mutants.report import report
from tests.mutants.results import ResultsFile
from tests.mutants.run import Run, WholeSourceError
from tests.mutants.source_copy import SourceCopies

PAGE: Final = ROOT / "docs" / "reliability.md"

EPILOG: Final = """\
examples (PYTHONPATH=benchmarks):
  python -m tests.mutants --jobs 2 --json mutants.jsonl
  python -m tests.mutants --jobs 2 --json mutants.jsonl --resume --tests --page
  python -m tests.mutants --file broker/events --sample 10 --seeds 50
  python -m tests.mutants --only acknowledged-before-accepted --first-seed 1000

exit codes: 0 all were hunted, whatever was found; 1 a mutant no longer fits the
source, or the source without a mutant fails; 2 a mistake in the arguments
"""


class UsageError(Exception):
    """Arguments that do not go together, or do not fit the mutants or the file of results."""


def arguments() -> argparse.ArgumentParser:
    ask = argparse.ArgumentParser(
        prog="python -m tests.mutants",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    ask.add_argument("--seeds", type=_count, default=300, metavar="K", help="seeds for each mutant, at most (300)")
    ask.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first of them (0)")
    ask.add_argument("--only", nargs="+", metavar="NAME", help="only the mutants of these names")
    ask.add_argument("--file", metavar="PART", help="only those in files whose path below src/agvent has this part")
    ask.add_argument("--sample", type=_count, metavar="N", help="only so many of them, at even distances")
    ask.add_argument("--jobs", type=_count, default=os.cpu_count(), metavar="J", help="hunts at a time (the cores)")
    ask.add_argument("--tests", action="store_true", help="then run the tests on each mutant that no seed found")
    ask.add_argument("--json", type=Path, metavar="FILE", help="write each result as a line of JSON when it comes")
    ask.add_argument("--resume", action="store_true", help="keep the results in FILE, and hunt the others")
    ask.add_argument("--page", action="store_true", help="also write the tables into docs/reliability.md")
    return ask


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


def chosen(mutants: Sequence[Mutant], args: argparse.Namespace) -> list[Mutant]:
    """The mutants that the arguments name."""
    if args.only and (unknown := set(args.only) - {one.name for one in mutants}):
        raise UsageError(f"--only: no mutant has the name {', '.join(sorted(unknown))}")
    found = [one for one in mutants if not args.only or one.name in args.only]
    found = [one for one in found if not args.file or args.file in one.file]
    if not found:
        raise UsageError("no mutant is chosen: --only and --file have none in common")
    return spread(found, args.sample) if args.sample else found


def results_file(args: argparse.Namespace) -> ResultsFile:
    """Where results go. One that is there is only continued, and only with the same seeds."""
    if args.resume and args.json is None:
        raise UsageError("--resume needs --json: that file has the results to keep")
    if args.json is not None and args.json.exists() and not args.resume:
        raise UsageError(f"{args.json} exists: continue it with --resume, or remove it")
    file = ResultsFile(args.json)
    for one in file.results.values():
        if (one.first_seed, one.seeds_max) != (args.first_seed, args.seeds):
            options = f"--first-seed {one.first_seed} --seeds {one.seeds_max}"
            raise UsageError(f"{args.json} has results of other seeds: continue it with {options}")
    return file


def main() -> int:
    ask = arguments()
    args = ask.parse_args()
    try:
        mutants = load()
        check(mutants)
        mutants = chosen(mutants, args)
        file = results_file(args)
        limit_memory()
        prepare_kernels()
        with tempfile.TemporaryDirectory(prefix="agvent-mutants-") as folder:
            copies = SourceCopies(Path(folder), jobs=args.jobs)
            run = Run(file, copies, first_seed=args.first_seed, seeds_max=args.seeds)
            run.hunt_all(mutants)
            if args.tests:
                run.test_all(mutants)
    except UsageError as error:
        ask.error(str(error))
    except (CatalogueError, WholeSourceError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("interrupted; --json keeps results and --resume continues\n")
        return 130
    tables = report(mutants, file.results)
    sys.stdout.write(f"{tables}\n")
    if args.page:
        words = [word for word in sys.argv[1:] if word != "--page"]
        command = " ".join(["python -m tests.mutants", *words])
        replace_block("mutants", f"{tables}\n\n{made_by(command)}", page=PAGE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
