"""How the cost of an event grows with the number of subscriptions, and with the number it matches.

    python benchmarks/growth.py [--json] [--page]

`--page` writes the table into docs/performance.md and, where matplotlib is installed (`pip install matplotlib`; nothing
else needs it), docs/img/growth.svg and .png.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from match import check, rounded, run
from page import PAGE, made_by, replace_block, short, table
from workloads import Workload, workload

WORKLOADS: Final = ("A1", "A2", "M")
SIZES: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
WIDTHS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Factors on the ranges of A2: from less than one match an event to thousands."""

SIZE_OF_WIDTHS: Final = 100_000
EVENTS: Final = 50_000
IMAGES: Final = PAGE.parent / "img"
PICTURE: Final = "![Cost against subscriptions and against matches](img/growth.svg)\n\n"


def measure(made: Workload, subscriptions: int) -> dict[str, Any]:
    """µs per event of the index and of the scan, at one size."""
    with tempfile.TemporaryDirectory() as folder:
        files = made.write(Path(folder), subscriptions=subscriptions, events=EVENTS)
        index, scan = run("index.py", *files), run("scan.py", *files)
    check(index, scan)
    return {
        "workload": made.name,
        "subscriptions": subscriptions,
        "matches_per_event": rounded(index.matches_per_event),
        "us_per_event": rounded(1e6 / index.rate.median),
        "scan_us_per_event": rounded(1e6 / scan.rate.median),
    }


def plot(by_size: list[dict[str, Any]], by_matches: list[dict[str, Any]]) -> None:
    """Two panels with logarithmic axes: what doubles with what is a straight line."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 10})
    figure, (left, right) = importlib.import_module("matplotlib.pyplot").subplots(
        1, 2, figsize=(10, 4.2), layout="constrained"
    )
    for color, name in zip(("C0", "C1", "C2"), WORKLOADS, strict=True):
        rows = [row for row in by_size if row["workload"] == name]
        sizes = [row["subscriptions"] for row in rows]
        left.plot(sizes, [row["us_per_event"] for row in rows], "o-", color=color, label=f"{name}, index")
        left.plot(sizes, [row["scan_us_per_event"] for row in rows], ":", color=color, label=f"{name}, scan")
    left.set(xscale="log", yscale="log", xlabel="subscriptions", ylabel="µs per event, JSON included")
    matches = [row["matches_per_event"] for row in by_matches]
    right.plot(matches, [row["us_per_event"] for row in by_matches], "o-", color="C1", label="A2, index")
    right.plot(matches, [row["scan_us_per_event"] for row in by_matches], ":", color="C1", label="A2, scan")
    right.set(xscale="log", yscale="log", xlabel=f"matches per event, of {SIZE_OF_WIDTHS:,} subscriptions")
    for panel in (left, right):
        panel.grid(alpha=0.3)
        panel.legend(frameon=False)
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "growth.svg", metadata={"Date": None})
    figure.savefig(IMAGES / "growth.png", dpi=120)


def write_page(by_size: list[dict[str, Any]], by_matches: list[dict[str, Any]]) -> None:
    first = []
    for size in SIZES:
        rows = {row["workload"]: row for row in by_size if row["subscriptions"] == size}
        first.append([short(size)])
        for name in WORKLOADS:
            found = rows[name]
            first[-1] += [short(found["us_per_event"]), short(found["scan_us_per_event"])]
    second = [
        [
            short(row["matches_per_event"]),
            short(row["us_per_event"]),
            short(1000 * row["us_per_event"] / row["matches_per_event"]),
            short(row["scan_us_per_event"]),
        ]
        for row in by_matches
    ]
    headings = ["subscriptions", *[f"{name} {engine}" for name in WORKLOADS for engine in ("µs", "scan µs")]]
    replace_block(
        "growth",
        f"{table(headings, first)}\n\nA2 at {short(SIZE_OF_WIDTHS)} subscriptions, its ranges made narrower and wider:"
        f"\n\n{table(['matches per event', 'µs', 'ns per match', 'scan µs'], second)}\n\n"
        f"{PICTURE if (IMAGES / 'growth.svg').exists() else ''}"
        f"{made_by('python benchmarks/growth.py --page')}",
    )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object per point")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md and the plots")
    given = ask.parse_args()
    points = [(workload(name, given.seed), size) for name in WORKLOADS for size in SIZES]
    points += [(workload("A2", given.seed, width=width), SIZE_OF_WIDTHS) for width in WIDTHS]
    measured = []
    for made, size in points:
        row = measure(made, size)
        measured.append(row)
        print(json.dumps(row) if given.json else ", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    by_size, by_matches = measured[: -len(WIDTHS)], measured[-len(WIDTHS) :]
    if given.page:
        if importlib.util.find_spec("matplotlib"):
            plot(by_size, by_matches)
        else:
            print("no plots: matplotlib is not installed. pip install matplotlib adds them.", file=sys.stderr)
        write_page(by_size, by_matches)


if __name__ == "__main__":
    main()
