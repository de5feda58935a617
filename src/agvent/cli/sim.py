"""`agvent sim`: brokers in a simulated world that tries to break them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agvent.cli.sim_coverage import run_covered, run_guided
from agvent.cli.sim_scripts import judge_script, plan_in, reduce_run
from agvent.sim.scenario import MIXES, SWARM, Scenario, scenario_of
from agvent.sim.topology import TOPOLOGIES

if TYPE_CHECKING:
    from agvent.sim.run import Verdict
    from agvent.sim.sweep import SweepSummary
    from agvent.sim.world import World

SUMMARY = "run brokers in a simulated world that tries to break them"

DESCRIPTION = """\
Run a network of brokers with clients in a simulated world: virtual time, links
that lose, double, delay and damage frames, disks that forget what was not
synced, brokers that crash, pause and come back. Then mend everything, and judge
the run by what clients were told and by what came to be on disks: nothing lost,
doubled, unexpected or out of order, every table converged, nothing kept back.

One seed is one run, and runs twice: both must go the same way. Without
--topology and --faults, every fourth seed takes all of them in turn, with the
real limits. The other three are of the swarm: each draws what may happen in it,
and smaller limits.
"""

EPILOG = """\
examples:
  agvent sim --seeds 100
  agvent sim --topology abdes --faults partitions --seed 31 --trace
  agvent sim --couriers --seeds 100
  agvent sim --first-seed 1000 --seeds 2000 --jobs 2 --json
  agvent sim --topology abdes --faults all --seed 7 --log run && agvent spark audit run
  agvent sim --seed 39 --reduce > small.txt; agvent sim --script small.txt --trace
  agvent sim --seeds 500 --coverage
  agvent sim --seeds 500 --guided corpus.jsonl
  agvent sim --seeds 50000 --master spark://host:7077

exit codes: 0 no violation, 1 a violation, 2 a mistake in the arguments
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--topology", choices=[*TOPOLOGIES], help="the graph of brokers")
    parser.add_argument("--faults", choices=[*MIXES, SWARM], help="what goes wrong")
    parser.add_argument("--couriers", action="store_true", help="publish self-routing agvents too")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, metavar="N", help="run this seed alone")
    which.add_argument("--seeds", type=_count, default=16, metavar="K", help="how many seeds to run (16)")
    which.add_argument("--script", metavar="FILE", help="run a script, step by step, instead of a seed")
    parser.add_argument("--reduce", action="store_true", help="print the smallest script that fails as this run does")
    parser.add_argument("--first-seed", type=int, metavar="N", help="the first of them (0); not with --seed")
    parser.add_argument("--jobs", type=_count, metavar="J", help="processes (one for each core)")
    parser.add_argument("--trace", action="store_true", help="print what happens, a line each; needs --seed")
    parser.add_argument("--log", metavar="DIR", help="write the run as an event log that can be audited; needs --seed")
    parser.add_argument("--spark", action="store_true", help="spread the seeds over Spark")
    parser.add_argument("--master", metavar="URL", help="the Spark cluster to spread them over; implies --spark")
    parser.add_argument("--coverage", action="store_true", help="count what the worlds meet, and say what none met")
    parser.add_argument(
        "--guided", metavar="FILE", help="try worlds like those that met something new, which FILE keeps"
    )
    parser.add_argument("--json", action="store_true", help="print the summary as a JSON object")
    parser.set_defaults(run=run, complain=parser.error)


def _count(text: str) -> int:
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return count


def run(args: argparse.Namespace) -> int:
    # The simulator brings in NumPy and Numba, which `agvent --help` can do without.
    from agvent.sim.run import simulated  # noqa: PLC0415
    from agvent.sim.sweep import SweepSummary, sweep  # noqa: PLC0415

    _check(args)
    if args.script is not None:
        return _run_script(args)
    first, count = (args.first_seed or 0, args.seeds) if args.seed is None else (args.seed, 1)
    chosen = {"topology": args.topology, "faults": args.faults, "couriers": args.couriers}
    scenarios = [scenario_of(seed, **chosen) for seed in range(first, first + count)]
    if args.guided:
        return run_guided(args, range(first, first + count))
    if args.coverage:
        return run_covered(args, scenarios)
    if args.reduce:
        return reduce_run(scenarios[0], as_json=args.json)
    if args.trace or args.log:
        _show(args, partial(simulated, scenarios[0]))
    summary = SweepSummary(faults={})
    jobs = 1 if count == 1 else min(args.jobs or os.cpu_count() or 1, count)
    verdicts = _on_spark(scenarios, args.master) if args.spark or args.master else sweep(scenarios, jobs=jobs)
    for verdict in _shown(verdicts, count):
        summary.add(verdict)
        if verdict.violations:
            _report(verdict)
    _print_summary(summary, as_json=args.json)
    return 1 if summary.violations else 0


def _check(args: argparse.Namespace) -> None:
    is_alone = args.seed is not None or args.script is not None
    for option, given in (("--trace", args.trace), ("--log", args.log), ("--reduce", args.reduce)):
        if given and not is_alone:
            args.complain(f"{option} needs --seed or --script: it is about one run")
    if is_alone and args.first_seed is not None:
        args.complain("--first-seed begins a row of --seeds: --seed is one alone")


def _show(args: argparse.Namespace, simulate: Callable[..., World]) -> None:
    """Runs it once more, to look at it."""
    from agvent.sim.event_log import write_log  # noqa: PLC0415
    from agvent.sim.trace import Trace  # noqa: PLC0415
    from agvent.store.log_reader import check_free  # noqa: PLC0415

    if args.log is not None:
        check_free(Path(args.log))
    out = sys.stderr if args.json else sys.stdout
    world = simulate(trace=Trace(partial(print, file=out)) if args.trace else None)
    if args.log is not None:
        write_log(world, args.log)
        print(f"wrote the run to {args.log}; judge it with: agvent spark audit {args.log}", file=sys.stderr)


def _run_script(args: argparse.Namespace) -> int:
    """Runs a script, or reduces it."""
    from agvent.sim.run import replayed  # noqa: PLC0415

    plan = plan_in(args.script)
    if args.reduce:
        return reduce_run(plan, as_json=args.json)
    if args.trace or args.log:
        _show(args, partial(replayed, plan))
    return judge_script(plan, args.script, as_json=args.json)


def _on_spark(scenarios: list[Scenario], master: str | None) -> Iterator[Verdict]:
    """The verdicts on scenarios, as the tasks of a Spark job give them."""
    from agvent.sim.spark_sweep import sweep_on  # noqa: PLC0415
    from agvent.spark import session  # noqa: PLC0415

    with session(master) as spark:
        yield from sweep_on(spark, scenarios)


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
    print(f"violation: {verdict.violations[0]}{more}; replay: {verdict.scenario.command()}", file=sys.stderr)


def _print_summary(summary: SweepSummary, *, as_json: bool) -> None:
    if as_json:
        print(msgspec.json.encode(summary).decode())
        return
    faults = ", ".join(f"{count:,} {kind}" for kind, count in sorted(summary.faults.items())) or "none"
    print(
        f"{summary.runs:,} runs, {summary.violations:,} violations: {summary.events:,} events, "
        f"{summary.deliveries:,} deliveries, {summary.steps:,} steps, {summary.virtual_s:,.0f} virtual seconds\n"
        f"faults: {faults}"
    )
