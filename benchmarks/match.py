"""Events per second of the index against a compiled scan, a Python loop and ActiveMQ's JMS selectors; for XPath,
against a loop over compiled expressions of lxml.

    python benchmarks/match.py --workload A1 --subscriptions 100000 --json
    python benchmarks/match.py --table          all workloads at 1k, 10k, 100k and 1M, into docs/performance.md
    python benchmarks/match.py --xpath          workload X alone at 1k, 10k and 100k, into docs/performance.md

Every engine runs in a fresh process on one core over the same files, one after the other, and must find the same
matches. `events_per_s` is the median of five repetitions; `ratio` is to the scan, or to the loop over lxml.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

import activemq
from engine import Report
from page import made_by, replace_block, short, table
from workloads import NAMES, SQL_NAMES, workload

EVENTS: Final = 100_000
SECONDS: Final = 2.0
SIZES: Final = (1_000, 10_000, 100_000, 1_000_000)

TARGETS: Final[dict[str, dict[int, float]]] = {
    "A1": {10_000: 500_000, 100_000: 300_000, 1_000_000: 50_000},
    "A2": {10_000: 200_000, 100_000: 40_000, 1_000_000: 4_000},
    "B": {10_000: 400_000, 100_000: 300_000, 1_000_000: 50_000},
    "C": {10_000: 400_000, 100_000: 300_000, 1_000_000: 50_000},
    "M": {10_000: 150_000, 100_000: 40_000, 1_000_000: 4_000},
    "X": {10_000: 30_000, 100_000: 10_000},
}
RATIO_TARGETS: Final = {"A1": 30, "A2": 8, "B": 30, "C": 30, "M": 8, "X": 100}
RATIO_SIZE: Final = 100_000
XPATH_SIZES: Final = SIZES[:-1]
"""At a million, 120,000 subscriptions would match each event."""


def run(program: str, subscriptions: Path, events: Path) -> Report:
    """An engine's report, from a fresh process."""
    files = [str(Path(__file__).with_name(program)), str(subscriptions), str(events)]
    command = [sys.executable, *files, "--seconds", str(SECONDS)]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE, env={**os.environ, "NUMBA_NUM_THREADS": "1"})
    return msgspec.json.decode(ran.stdout, type=Report)


def measure(name: str, subscriptions: int, *, events: int, seed: int, peers: bool) -> dict[str, Any]:
    """One row: every engine over one workload."""
    with tempfile.TemporaryDirectory() as folder:
        made = workload(name, seed)
        files = made.write(Path(folder), subscriptions=subscriptions, events=events)
        index = run("index.py", *files)
        if made.language == "xpath":
            lxml = run("lxml_loop.py", *files)
            check(index, lxml)
            return {
                **figures(name, subscriptions, seed, index, lxml),
                "lxml_loop_events_per_s": rounded(lxml.rate.median),
            }
        scan = run("scan.py", *files)
        loop = run("python_loop.py", *files) if peers else None
        has_jms = peers and subscriptions <= activemq.SUBSCRIPTIONS_MAX and activemq.missing() is None
        jms = activemq.report(*files, SECONDS) if has_jms else None
    for other in (scan, loop, jms):
        if other is not None:
            check(index, other)
    return {
        **figures(name, subscriptions, seed, index, scan),
        "scan_events_per_s": rounded(scan.rate.median),
        "python_loop_events_per_s": rounded(loop.rate.median) if loop else None,
        "activemq_events_per_s": rounded(jms.rate.median) if jms else None,
    }


def figures(name: str, subscriptions: int, seed: int, index: Report, other: Report) -> dict[str, Any]:
    """What is measured of the index, and its ratio to another engine."""
    return {
        "workload": name,
        "subscriptions": subscriptions,
        "events": index.rate.events,
        "seed": seed,
        "events_per_s": round(index.rate.median),
        "events_per_s_slowest": round(index.rate.slowest),
        "events_per_s_fastest": round(index.rate.fastest),
        "ratio": rounded(index.rate.median / other.rate.median),
        "build_s": rounded(index.build_s),
        "index_bytes": index.index_bytes,
        "matches_per_event": rounded(index.matches_per_event),
        "parse_share": rounded(index.parse_share),
        "peak_rss_bytes": index.peak_rss_bytes,
    }


def check(index: Report, other: Report) -> None:
    """Engines that find different matches may not be compared."""
    common = min(len(index.counts), len(other.counts))
    differ = [e for e in range(common) if index.counts[e] != other.counts[e]]
    if differ:
        e = differ[0]
        sys.exit(f"error: event {e} matches {index.counts[e]} by the index, {other.counts[e]} by the {other.engine}")


def rounded(number: float | None) -> float | None:
    """Four figures: more would be noise."""
    return None if number is None else float(f"{number:.4g}")


SPEEDS: Final = ("", "events/s", "target", "reached", "spread", "compiled scan", "ratio", "Python loop", "ActiveMQ")
COSTS: Final = ("", "matches/event", "µs/event", "of it JSON", "build s", "index MB", "peak MB")
COSTS_ARE: Final = """What it costs: µs per event and how much of it reading the JSON takes, time to build with the
filters parsed, bytes of the index, peak memory of the process."""
XPATHS: Final = ("", "events/s", "target", "reached", "spread", "lxml loop", "ratio", "target", "reached")
RATIOS: Final = ("ratio to the scan at 100k", "measured", "target", "reached")


def speeds(row: dict[str, Any]) -> list[str]:
    target = TARGETS[row["workload"]].get(row["subscriptions"])
    return [
        label(row),
        f"**{short(row['events_per_s'])}**",
        *verdict(row["events_per_s"], target),
        f"{short(row['events_per_s_slowest'])}–{short(row['events_per_s_fastest'])}",
        short(row["scan_events_per_s"]),
        short(row["ratio"]),
        short(row["python_loop_events_per_s"]),
        short(row["activemq_events_per_s"]),
    ]


def xpaths(row: dict[str, Any]) -> list[str]:
    ratio_target = RATIO_TARGETS["X"] if row["subscriptions"] >= SIZES[1] else None
    return [
        label(row),
        f"**{short(row['events_per_s'])}**",
        *verdict(row["events_per_s"], TARGETS["X"].get(row["subscriptions"])),
        f"{short(row['events_per_s_slowest'])}–{short(row['events_per_s_fastest'])}",
        short(row["lxml_loop_events_per_s"]),
        f"**{short(row['ratio'])}**",
        *verdict(row["ratio"], ratio_target),
    ]


def costs(row: dict[str, Any]) -> list[str]:
    return [
        label(row),
        short(row["matches_per_event"]),
        f"{1e6 / row['events_per_s']:.3g}",
        f"{row['parse_share']:.0%}",
        f"{row['build_s']:.3g}",
        f"{row['index_bytes'] / 1e6:.3g}",
        f"{row['peak_rss_bytes'] / 1e6:.0f}",
    ]


def label(row: dict[str, Any]) -> str:
    return f"{row['workload']} {short(row['subscriptions'])}"


def verdict(measured: float, target: float | None) -> list[str]:
    """The target and whether it is reached; a row may have none."""
    return ["", ""] if target is None else [f"≥ {short(target)}", "yes" if measured >= target else "no"]


def write_page(measured: list[dict[str, Any]]) -> None:
    """The tables of docs/performance.md."""
    ratios = [
        [row["workload"], f"**{short(row['ratio'])}**", *verdict(row["ratio"], RATIO_TARGETS[row["workload"]])]
        for row in measured
        if row["subscriptions"] == RATIO_SIZE
    ]
    parts = [
        table(SPEEDS, [speeds(row) for row in measured]),
        table(RATIOS, ratios),
        COSTS_ARE,
        table(COSTS, [costs(row) for row in measured]),
        made_by("python benchmarks/match.py --table"),
    ]
    replace_block("match", "\n\n".join(parts))


def write_xpath_page(measured: list[dict[str, Any]]) -> None:
    """The tables of workload X."""
    parts = [
        table(XPATHS, [xpaths(row) for row in measured]),
        table(COSTS, [costs(row) for row in measured]),
        made_by("python benchmarks/match.py --xpath"),
    ]
    replace_block("match-xpath", "\n\n".join(parts))


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--workload", choices=NAMES, default="A1")
    ask.add_argument("--subscriptions", type=int, default=100_000)
    ask.add_argument("--events", type=int, default=EVENTS, help="events to draw; a slow engine takes a prefix of them")
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument(
        "--peers", action=argparse.BooleanOptionalAction, default=True, help="also the Python loop and ActiveMQ"
    )
    ask.add_argument("--table", action="store_true", help="all workloads and sizes, into docs/performance.md")
    ask.add_argument("--xpath", action="store_true", help="workload X at its sizes, into docs/performance.md")
    given = ask.parse_args()
    options = {"events": given.events, "seed": given.seed, "peers": given.peers}
    absent = activemq.missing() if given.peers else None
    if absent:
        print(f"ActiveMQ left out: {absent}. {activemq.HINT}.", file=sys.stderr)
    if not (given.table or given.xpath):
        row = measure(given.workload, given.subscriptions, **options)
        print(json.dumps(row) if given.json else "\n".join(f"{key:26} {value}" for key, value in row.items()))
        return
    if given.table:
        write_page(list(measured(SQL_NAMES, SIZES, options)))
    write_xpath_page(list(measured(("X",), XPATH_SIZES, options)))


def measured(names: tuple[str, ...], sizes: tuple[int, ...], options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row for each workload and size, shown as it comes."""
    for name in names:
        for size in sizes:
            row = measure(name, size, **options)
            print(json.dumps(row), flush=True)
            yield row


if __name__ == "__main__":
    main()
