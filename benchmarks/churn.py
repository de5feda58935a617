"""Adding and removing while another thread matches: changes per second, and what the reader notices.

    python benchmarks/churn.py [--json] [--page]

100,000 subscriptions of A1. A writer thread removes the oldest subscription and adds a new one, as fast as it can or
at a given pace; a reader thread matches single events and times each. Compaction runs inside `add` when it is due, or
in a third thread that calls `compact()` over and over. The threads share one interpreter with its usual switch
interval.
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from page import made_by, replace_block, short, table
from workloads import Interest, workload

SPARE: Final = 200_000
"""Subscriptions drawn to be added; the writer takes them in a circle, under new ids."""

PACED_PER_S: Final = 20_000
COMPACTION_PAUSE_S: Final = 0.2
CHANGES_MIN, P99_MS_MAX, MAX_MS_MAX = 20_000, 2.0, 20.0
"""The targets."""


class Writer:
    """Removes the oldest and adds a new one, in turn, until stopped."""

    def __init__(self, index: Subscriptions, ids: list[str], spare: list[Interest], pace: float | None) -> None:
        self._index = index
        self._oldest: Iterator[str] = iter(ids)
        self._spare = itertools.cycle(spare)
        self._ids = ids
        self._pace = pace
        self.changes = 0
        self.seconds = 0.0

    def run(self, stop: threading.Event) -> None:
        start = time.perf_counter()
        while not stop.is_set():
            added = f"n{self.changes}"
            self._index.remove(next(self._oldest))
            self._index.add(added, next(self._spare).filter)
            self._ids.append(added)
            self.changes += 2
            if self._pace:
                ahead = self.changes / self._pace - (time.perf_counter() - start)
                if ahead > 0.001:
                    time.sleep(ahead)
        self.seconds = time.perf_counter() - start


class Reader:
    """Matches one event after another and times each."""

    def __init__(self, index: Subscriptions, events: list[dict[str, Any]]) -> None:
        self._index = index
        self._events = itertools.cycle(events)
        self.took: list[int] = []

    def run(self, stop: threading.Event) -> None:
        while not stop.is_set():
            event = next(self._events)
            start = time.perf_counter_ns()
            self._index.match(event)
            self.took.append(time.perf_counter_ns() - start)


def compact(index: Subscriptions, stop: threading.Event) -> None:
    while not stop.wait(COMPACTION_PAUSE_S):
        index.compact()


def measure(subscriptions: int, seconds: float, seed: int, *, pace: float | None, compactor: bool) -> dict[str, Any]:
    """One run: a writer, a reader and, if asked, a compactor."""
    made = workload("A1", seed)
    drawn = made.subscriptions(subscriptions + SPARE)
    first, spare = drawn[:subscriptions], drawn[subscriptions:]
    index = Subscriptions()
    index.add_many(Subscription(id=one.id, language="sql", filter=one.filter) for one in first)
    index.compact()
    events = made.events(20_000)
    writer, reader = Writer(index, [one.id for one in first], spare, pace), Reader(index, events)
    warm_up(index, events, spare)
    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(stop,)) for work in (writer.run, reader.run)]
    if compactor:
        threads.append(threading.Thread(target=compact, args=(index, stop)))
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    p50, p99, most = (float(np.percentile(reader.took, at)) / 1e6 for at in (50, 99, 100))
    return {
        "subscriptions": subscriptions,
        "pace": pace,
        "compaction": "third thread" if compactor else "inside add",
        "changes_per_s": round(writer.changes / writer.seconds),
        "matches_per_s": round(len(reader.took) / writer.seconds),
        "p50_ms": round(p50, 4),
        "p99_ms": round(p99, 3),
        "max_ms": round(most, 2),
    }


def warm_up(index: Subscriptions, events: list[dict[str, Any]], spare: list[Interest]) -> None:
    """Compiles what adding, removing, matching and compacting use."""
    index.add("warm", spare[0].filter)
    for event in events[:100]:
        index.match(event)
    index.remove("warm")
    index.compact()


def write_page(measured: list[dict[str, Any]]) -> None:
    lines = [
        [
            f"{'paced' if row['pace'] else 'full speed'}, compaction {row['compaction']}",
            f"**{short(row['changes_per_s'])}**",
            short(row["matches_per_s"]),
            f"{row['p50_ms']:.3f}",
            f"**{row['p99_ms']:.2f}**",
            f"**{row['max_ms']:.1f}**",
            "yes" if reached(row) else "no",
        ]
        for row in measured
    ]
    headings = ["writer", "changes/s", "matches/s", "p50 ms", "p99 ms", "max ms", "reached"]
    replace_block(
        "churn",
        f"Targets: ≥ {short(CHANGES_MIN)} changes/s, reader's p99 ≤ {P99_MS_MAX:.0f} ms, max ≤ {MAX_MS_MAX:.0f} ms.\n\n"
        f"{table(headings, lines)}\n\n{made_by('python benchmarks/churn.py --page')}",
    )


def reached(row: dict[str, Any]) -> bool:
    """A paced writer may fall short of its pace by what its sleeps round."""
    enough = bool(row["changes_per_s"] >= CHANGES_MIN * (0.99 if row["pace"] else 1))
    return enough and bool(row["p99_ms"] <= P99_MS_MAX and row["max_ms"] <= MAX_MS_MAX)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--subscriptions", type=int, default=100_000)
    ask.add_argument("--seconds", type=float, default=10.0, help="length of each run")
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object per run")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md")
    given = ask.parse_args()
    measured = []
    for pace, compactor in itertools.product((None, PACED_PER_S), (False, True)):
        row = measure(given.subscriptions, given.seconds, given.seed, pace=pace, compactor=compactor)
        measured.append(row)
        print(json.dumps(row) if given.json else ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if given.page:
        write_page(measured)


if __name__ == "__main__":
    main()
