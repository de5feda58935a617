"""`agvent sim`: brokers in a simulated world that tries to break them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agvent.sim.plan import MIXES, Plan, plan_of
from agvent.sim.topology import TOPOLOGIES

if TYPE_CHECKING:
    from agvent.sim.run import Verdict
    from agvent.sim.sweep import Summary

SUMMARY = "run brokers in a simulated world that tries to break them"

DESCRIPTION = """\
Run a network of brokers with clients in a simulated world: virtual time, links
that lose, double, delay and damage frames, disks that forget what was not
synced, brokers that crash, pause and come back. Then mend everything, and judge
the run: nothing lost, doubled, unexpected or out of order, every table
converged, nothing kept back.

One seed is one run, and runs twice: both must go the same way. Without
--topology and --faults the seeds take all of them in turn.
"""

EPILOG = """\
examples:
  agvent sim --seeds 100
  agvent sim --topology abdes --faults partitions --seed 31 --trace
  agvent sim --first-seed 1000 --seeds 2000 --jobs 2 --json

exit codes: 0 no violation, 1 a violation, 2 a mistake in the arguments
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topology", choices=[*TOPOLOGIES], help="the graph of brokers")
    parser.add_argument("--faults", choices=[*MIXES], help="what goes wrong")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, metavar="N", help="run this seed alone")
    which.add_argument("--seeds", type=_count, default=16, metavar="K", help="how many seeds to run (16)")
    parser.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first of them (0)")
    parser.add_argument("--jobs", type=_count, metavar="J", help="processes (one for each core)")
    parser.add_argument("--trace", action="store_true", help="print what happens, a line each; needs --seed")
    parser.add_argument("--json", action="store_true", help="print the summary as a JSON object")
    parser.set_defaults(run=run, complain=parser.error)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


def run(args: argparse.Namespace) -> int:
    # The simulator brings in NumPy and Numba, which `agvent --help` can do without.
    from agvent.sim.sweep import Summary, sweep  # noqa: PLC0415

    if args.trace and args.seed is None:
        args.complain("--trace needs --seed: it shows one run")
    first, count = (args.first_seed, args.seeds) if args.seed is None else (args.seed, 1)
    plans = [plan_of(seed, topology=args.topology, faults=args.faults) for seed in range(first, first + count)]
    if args.trace:
        _print_trace(plans[0])
    summary = Summary(faults={})
    jobs = 1 if count == 1 else min(args.jobs or os.cpu_count() or 1, count)
    for verdict in _shown(sweep(plans, jobs=jobs), count):
        summary.add(verdict)
        if verdict.violations:
            _report(verdict)
    _print_summary(summary, as_json=args.json)
    return 1 if summary.violations else 0


def _print_trace(plan: Plan) -> None:
    from agvent.sim.run import run as run_plan  # noqa: PLC0415
    from agvent.sim.trace import Trace  # noqa: PLC0415

    run_plan(plan, trace=Trace(print))


def _shown(verdicts: Iterator[Verdict], count: int) -> Iterator[Verdict]:
    """The verdicts, with a bar on a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal or count == 1) as bar:
        task = bar.add_task("seeds", total=count)
        for verdict in verdicts:
            yield verdict
            bar.advance(task)


def _report(verdict: Verdict) -> None:
    """One line: the first violation, how many more, and how to see it."""
    more = f" (and {len(verdict.violations) - 1} more)" if len(verdict.violations) > 1 else ""
    print(f"violation: {verdict.violations[0]}{more}; replay: {verdict.plan.command()}", file=sys.stderr)


def _print_summary(summary: Summary, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(summary).decode())
        return
    faults = ", ".join(f"{count:,} {kind}" for kind, count in sorted(summary.faults.items())) or "none"
    print(
        f"{summary.runs:,} runs, {summary.violations:,} violations: {summary.events:,} events, "
        f"{summary.deliveries:,} deliveries, {summary.steps:,} steps, {summary.virtual_s:,.0f} virtual seconds\n"
        f"faults: {faults}"
    )
