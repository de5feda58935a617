"""A day of events as a log, on Spark: matched, audited and reported, with the commands that do it.

    python examples/day.py

Each step is a command line that works as it stands; here they run one after the other in this process, so that Java
starts once.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

from agvent.cli.main import main as agvent

FOLDER = Path("demo-output")
"""Written anew by each run; git does not see it."""


def run(*words: str) -> None:
    """Shows a command and runs it."""
    print(f"\n$ agvent {shlex.join(words)}", flush=True)
    code = agvent(words)
    if code:
        sys.exit(code)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--events", type=int, default=50_000)
    ask.add_argument("--subscriptions", type=int, default=1_000)
    ask.add_argument("--folder", type=Path, default=FOLDER)
    given = ask.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    given.folder.mkdir(parents=True)
    log, matches, report = (str(given.folder / name) for name in ("day", "matches", "report"))

    print("A made-up day of a market, its subscriptions coming and going, as an event log:")
    sizes = ("--events", str(given.events), "--subscriptions", str(given.subscriptions), "--seed", "7")
    run("log", "generate", log, *sizes, "--xml")
    print("\nWhom each event should have reached, computed on Spark:")
    run("spark", "match", log, log, "--out", matches)
    print("\nWhether it did:")
    run("spark", "audit", log)
    print("\nAnd what the day was like, as a page to look at:")
    run("spark", "analyse", log, "--out", report)


if __name__ == "__main__":
    main()
