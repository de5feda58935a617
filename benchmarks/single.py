"""Latency of matching one event at a time: `Subscriptions.match` of a dict, at 100,000 subscriptions of A1.

python benchmarks/single.py [--json] [--page]
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any, Final

import numpy as np

from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from engine import one_core
from page import made_by, replace_block, table
from workloads import NAMES, workload

WARM: Final = 1_000
TARGETS: Final = {"p50": 20.0, "p99": 150.0}
"""µs at 100,000 subscriptions of A1."""


def measure(name: str, subscriptions: int, events: int, seed: int) -> dict[str, Any]:
    """The distribution of the time one call takes, in µs."""
    made = workload(name, seed)
    index = Subscriptions()
    index.add_many(
        Subscription(id=one.id, language="sql", filter=one.filter) for one in made.subscriptions(subscriptions)
    )
    index.compact()
    published = made.events(WARM + events)
    for event in published[:WARM]:
        index.match(event)
    took = np.empty(events, np.int64)
    found = 0
    for i, event in enumerate(published[WARM:]):
        start = time.perf_counter_ns()
        matched = index.match(event)
        took[i] = time.perf_counter_ns() - start
        found += len(matched)
    p50, p90, p99, most = (float(np.percentile(took, at)) / 1e3 for at in (50, 90, 99, 100))
    return {
        "workload": name,
        "subscriptions": subscriptions,
        "events": events,
        "p50_us": round(p50, 1),
        "p90_us": round(p90, 1),
        "p99_us": round(p99, 1),
        "max_us": round(most, 1),
        "matches_per_event": round(found / events, 2),
    }


def write_page(row: dict[str, Any]) -> None:
    lines = []
    for key in ("p50", "p90", "p99", "max"):
        value, target = row[f"{key}_us"], TARGETS.get(key)
        reached = "" if target is None else "yes" if value <= target else "no"
        lines.append([key, f"{value:.1f}", "" if target is None else f"≤ {target:.0f}", reached])
    replace_block(
        "single",
        f"One event as a dict, {row['events']:,} events, {row['matches_per_event']} matches each.\n\n"
        f"{table(['µs per `match`', 'measured', 'target', 'reached'], lines)}\n\n"
        f"{made_by('python benchmarks/single.py --page')}",
    )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--workload", choices=NAMES, default="A1")
    ask.add_argument("--subscriptions", type=int, default=100_000)
    ask.add_argument("--events", type=int, default=50_000)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md")
    given = ask.parse_args()
    one_core()
    row = measure(given.workload, given.subscriptions, given.events, given.seed)
    print(json.dumps(row) if given.json else "\n".join(f"{key:20} {value}" for key, value in row.items()))
    if given.page:
        write_page(row)


if __name__ == "__main__":
    main()
