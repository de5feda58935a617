"""100,000 subscriptions, 100,000 events: what matched, how fast, and why.

    python examples/many_subscriptions.py

The workload is A1 of the benchmarks, stock ticks against a symbol and a price range, made from a seed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from rich.console import Console
from rich.table import Table

import agvent
from agvent.matching.prepare import prepare_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from workloads import workload

SEED = 7
CHUNK_EVENTS = 10_000
EXPLAINED = 3


@contextmanager
def step(console: Console, text: str) -> Iterator[None]:
    """Says what is being done: on a terminal while it lasts, elsewhere as a line."""
    if not console.is_terminal:
        console.print(text)
    with console.status(text):
        yield


def matched(subscriptions: agvent.Subscriptions, lines: list[bytes]) -> Iterator[tuple[int, agvent.Matches]]:
    """Matches some thousand events at a time; gives the number of the first event with each answer."""
    for first in range(0, len(lines), CHUNK_EVENTS):
        yield first, subscriptions.match_json(b"".join(lines[first : first + CHUNK_EVENTS]))


def figures(subscriptions: agvent.Subscriptions, *, build_s: float, match_s: float, events: int, matches: int) -> Table:
    table = Table(title="One thread, JSON parsing included", title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_row("subscriptions", f"{len(subscriptions):,}")
    table.add_row("built in", f"{build_s:.1f} s")
    table.add_row("index", f"{subscriptions.statistics().index_bytes / 2**20:,.1f} MB")
    table.add_row("events", f"{events:,}")
    table.add_row("matched in", f"{match_s:.2f} s")
    table.add_row("events per second", f"{events / match_s:,.0f}")
    table.add_row("matches", f"{matches:,}")
    table.add_row("matches per event", f"{matches / events:.1f}")
    return table


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--subscriptions", type=int, default=100_000)
    ask.add_argument("--events", type=int, default=100_000)
    given = ask.parse_args()
    console = Console(highlight=False)

    with step(console, "compiling the kernels (a minute in the first run, later ones find them on disk)"):
        prepare_kernels()
    with step(console, "making the workload"):
        ticks = workload("A1", SEED)
        wanted = [agvent.Subscription(id=id, filter=text) for id, text, _ in ticks.subscriptions(given.subscriptions)]
        lines = ticks.events_json(given.events).splitlines(keepends=True)

    with step(console, "building the index"):
        start = time.perf_counter()
        subscriptions = agvent.Subscriptions()
        subscriptions.add_many(wanted)
        subscriptions.compact()
        build_s = time.perf_counter() - start
    with step(console, "matching"):
        start = time.perf_counter()
        answers = list(matched(subscriptions, lines))
        match_s = time.perf_counter() - start

    total = sum(len(answer) for _, answer in answers)
    console.print(figures(subscriptions, build_s=build_s, match_s=match_s, events=len(lines), matches=total))
    pairs = ((first + event, ids[0]) for first, answer in answers for event, ids in answer.by_event())
    for event, id in islice(pairs, EXPLAINED):
        console.print(f"\n[bold]Why event {event} matches {id}[/bold]")
        console.print(f"event   {lines[event].decode().strip()}", markup=False)
        console.print(f"filter  {subscriptions.get(id).filter}", markup=False)
        console.print(str(subscriptions.explain(agvent.decode_event(lines[event]), id)), markup=False)


if __name__ == "__main__":
    main()
