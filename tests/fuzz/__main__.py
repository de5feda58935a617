"""The long run: every target, on two processes, with a line of progress and a table at the end.

    python -m tests.fuzz [--target NAME ...] [--inputs N] [--seconds S] [--seed SEED] [--page]
    python -m tests.fuzz --target NAME --seed SEED --number N

The second tries one input again and prints it. Inputs that fail are saved in tests/fuzz/found/, which the tests replay.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from page import machine, replace_block, table
from tests.fuzz.processes import Plan, run_all
from tests.fuzz.run import Finding, Tally, input_of, kind_of, save, tried
from tests.fuzz.targets import TARGETS

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"


def summary(tallies: dict[str, Tally]) -> str:
    rows = []
    for name, tally in tallies.items():
        mean_us = 1e6 * tally.cpu_s / max(1, tally.inputs - tally.failed)
        cells = [f"{tally.inputs:,}", f"{tally.accepted / max(1, tally.inputs):.0%}", f"{mean_us:.0f}"]
        cells += [f"{1e3 * tally.slowest_s:.1f}", f"{tally.slowest:.0%}", f"{tally.failed:,}"]
        rows.append([name.replace("_", " "), *cells])
    inputs, failed = (sum(getattr(tally, key) for tally in tallies.values()) for key in ("inputs", "failed"))
    rows.append(["**all**", f"**{inputs:,}**", "", "", "", "", f"{failed:,}"])
    headings = ["target", "inputs", "accepted", "mean µs", "slowest ms", "nearest to its bound", "failed"]
    return table(headings, rows)


def report(finding: Finding) -> None:
    """Prints a finding with its input, and saves it."""
    given = input_of(finding.target, finding.seed, finding.number)
    path = save(finding.target, given)
    command = f"python -m tests.fuzz --target {finding.target} --seed {finding.seed} --number {finding.number}"
    sys.stdout.write(f"\n{finding.target}: {finding.kind}\n{finding.report}\ninput: {given!r}"[:3000])
    sys.stdout.write(f"\nsaved as {path}\nagain: {command}\n")


def try_one(name: str, seed: int, number: int) -> int:
    given = input_of(name, seed, number)
    sys.stdout.write(f"{given!r}\n")
    try:
        trial = tried(TARGETS[name], given)
    except Exception as error:
        sys.stdout.write(f"failed: {kind_of(error)}\n")
        raise
    sys.stdout.write(f"{'accepted' if trial.accepted else 'refused'}, {1e3 * trial.took_s:.2f} ms\n")
    return 0


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--target", choices=TARGETS, action="append", help="only this one; may be repeated")
    ask.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together")
    ask.add_argument("--seconds", type=float, default=3_600, help="at most, of all targets together")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--processes", type=int, default=2)
    ask.add_argument("--number", type=int, help="try this one input of the target")
    ask.add_argument("--page", action="store_true", help="also write the table into docs/reliability.md")
    given = ask.parse_args()
    names = given.target or list(TARGETS)
    if given.number is not None:
        return try_one(names[0], given.seed, given.number)
    plan = Plan(names, inputs=given.inputs, seconds=given.seconds, seed=given.seed, processes=given.processes)
    tallies = run_all(plan)
    findings = [finding for tally in tallies.values() for finding in tally.findings]
    for finding in findings:
        report(finding)
    made = summary(tallies)
    sys.stdout.write(f"\n{made}\n")
    if given.page:
        command = f"python -m tests.fuzz {' '.join(argument for argument in sys.argv[1:] if argument != '--page')}"
        replace_block("fuzz", f"{made}\n\nMade by `{command.strip()}` on {machine()}.", page=PAGE)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
