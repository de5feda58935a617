"""`agvent sim --coverage` and `--guided`: what many worlds meet, and worlds like those that met something new."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from agvent.sim.scenario import Scenario

if TYPE_CHECKING:
    from agvent.sim.coverage import Coverage
    from agvent.sim.guide import Guide


def run_covered(args: argparse.Namespace, scenarios: list[Scenario]) -> int:
    """Runs scenarios, and prints what they met and what not."""
    from agvent.sim.coverage import Coverage, covered  # noqa: PLC0415

    coverage, remaining, failed = Coverage(), iter(scenarios), 0
    runs = covered(coverage, lambda: next(remaining, None), jobs=_jobs(args, len(scenarios)))
    for scenario, found, _ in _shown(runs, coverage, len(scenarios)):
        if found.violations:
            failed += 1
            print(f"violation: {found.violations[0]}; replay: {scenario.command()}", file=sys.stderr)
    _print(coverage, failed, as_json=args.json)
    return 1 if failed else 0


def run_guided(args: argparse.Namespace, seeds: range) -> int:
    """Runs worlds of seeds, and worlds like those that met something new; keeps these in a file."""
    from agvent.sim.coverage import Coverage, covered  # noqa: PLC0415
    from agvent.sim.guide import Guide, keep, read_corpus  # noqa: PLC0415

    path, coverage, failed = Path(args.guided), Coverage(), 0
    before = read_corpus(path)
    guide = Guide(seeds, before, random_seed=seeds.start)
    count = len(before) + len(seeds)
    runs = covered(coverage, guide.draw, jobs=_jobs(args, count))
    for number, (scenario, found, new) in enumerate(_shown(runs, coverage, count)):
        if guide.learn(scenario, new) and scenario not in before:
            keep(path, scenario)
        if found.violations:
            failed += 1
            _keep_script(path.with_suffix(f".{number}.txt"), scenario, found.violations[0])
    _print(coverage, failed, as_json=args.json, guide=guide)
    return 1 if failed else 0


def _jobs(args: argparse.Namespace, count: int) -> int:
    return min(args.jobs or os.cpu_count() or 1, count)


def _keep_script(path: Path, scenario: Scenario, violation: str) -> None:
    """No seed draws this world: its script says it."""
    from agvent.sim.run import planned  # noqa: PLC0415

    path.write_text(planned(scenario).script(), encoding="utf-8")
    print(f"violation: {violation}; replay: agvent sim --script {path} --trace", file=sys.stderr)


def _shown(runs: Iterator[tuple], coverage: Coverage, count: int) -> Iterator[tuple]:  # type: ignore[type-arg]
    """The runs, with a bar on a terminal that says how much was met."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("worlds", total=count)
        for run in runs:
            yield run
            met = sum(map(len, coverage.met.values()))
            bar.update(task, advance=1, description=f"worlds, {met:,} things met")


def _print(coverage: Coverage, failed: int, *, as_json: bool, guide: Guide | None = None) -> None:
    if as_json:
        summary: dict[str, object] = {"runs": coverage.runs, "violations": failed, "coverage": coverage.summary()}
        if guide is not None:
            summary |= {"first": guide.first, "blind": guide.blind, "guided": guide.guided, "corpus": len(guide.corpus)}
        print(msgspec.json.encode(summary).decode())
        return
    print(coverage.report())
    if guide is not None:
        print(f"corpus: {len(guide.corpus)} worlds, after {guide.first.runs:,} at first")
        for name, kind in (("blind", guide.blind), ("guided", guide.guided)):
            print(
                f"{name}: {kind.runs:,} runs met {kind.new:,} new things, {kind.per_thousand:,.0f} in a thousand runs"
            )
    print(f"{coverage.runs:,} runs, {failed:,} with a violation")
