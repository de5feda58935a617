"""Figure 11 of seed 003 (Narada §7.3) again: one XPath query against stored XML events, by their number.

    python benchmarks/discovery.py [--json] [--page]

The stored documents and the query are those of the paper's figure 10. The query is answered twice: by the matcher in
this process, which reads every document and puts the query to it, and by `discover` on a log of them, on two cores.
`--page` writes docs/reproduction.md and, where matplotlib is installed, docs/img/discovery.svg and .png.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.spark.discovery.discover import discover
from agvent.spark.runtime.session import session
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from narada import IMAGES, PAGE, Drink, document, draw_of
from page import made_by, replace_block, table
from process_tree import cpu_seconds

STEP: Final = 10_000
SIZES: Final = tuple(range(STEP, 100_001, STEP))
SPARK_SIZES: Final = (10_000, 50_000, 100_000)
REPETITIONS: Final = 3
QUERIES: Final = {"1 %": "/menu/softdrinks[price>4.95]", "64 %": "/menu/softdrinks[price>1.80]"}
"""Prices reach from 0 to 5: the share of documents that match, and the paper's query with that bound."""

STORED: Final = datetime(2026, 3, 1, tzinfo=UTC)


def documents(seed: int, count: int) -> list[str]:
    """Soft drinks of figure 10 at random prices."""
    prices = (draw_of(seed, "discovery").integers(0, 500, count) / 100).tolist()
    return [str(document(Drink(number, price))["$xml"]) for number, price in enumerate(prices)]


def in_process(texts: Sequence[str], query: str) -> tuple[float, int]:
    """CPU milliseconds of one query, the median of some, and how many documents it finds."""
    index = Subscriptions([Subscription(id="query", language="xpath", filter=query)])
    stored = pa.record_batch({"$xml": texts})
    took, found = [], 0
    for _ in range(REPETITIONS):
        start = time.thread_time()
        pieces = (stored.slice(at, index.batch_rows) for at in range(0, len(texts), index.batch_rows))
        found = sum(len(index.match_batch(piece)) for piece in pieces)
        took.append(time.thread_time() - start)
    return 1e3 * statistics.median(took), found


def measure_in_process(seed: int) -> Iterator[dict[str, Any]]:
    texts = documents(seed, SIZES[-1])
    for share, query in QUERIES.items():
        for size in SIZES:
            cpu_ms, found = in_process(texts[:size], query)
            yield {"by": "matcher", "matching": share, "documents": size, "found": found, "cpu_ms": round(cpu_ms, 1)}


def measure_on_spark(seed: int) -> Iterator[dict[str, Any]]:
    """Each log is queried once before it is measured: the first query starts the workers."""
    texts = documents(seed, SIZES[-1])
    with tempfile.TemporaryDirectory() as folder, session("local[2]") as spark:
        for size in SPARK_SIZES:
            log = stored_log(Path(folder) / str(size), texts[:size])
            for share, query in QUERIES.items():

                def ask(log: Path = log, query: str = query) -> int:
                    return discover(spark, log, query, to="asker").count()

                cost = measured(ask)
                yield {"by": "discover", "matching": share, "documents": size, **cost}


def stored_log(path: Path, texts: Sequence[str]) -> Path:
    create_log(path)
    rows = [
        {
            "document": f"d{number}",
            "version": 1,
            "owner": "o",
            "broker": "b1",
            "realm": "",
            "xml": xml,
            "stored_at": STORED,
        }
        for number, xml in enumerate(texts)
    ]
    with LogWriter(path) as log:
        log.append("documents", rows)
    return path


def measured(ask: Callable[[], int]) -> dict[str, Any]:
    """CPU of this process and all below it, and wall time: the medians of three after one that is not counted."""
    found = ask()
    cpus, walls = [], []
    for _ in range(3):
        cpu, wall = cpu_seconds(os.getpid()), time.perf_counter()
        assert ask() == found
        cpus.append(cpu_seconds(os.getpid()) - cpu)
        walls.append(time.perf_counter() - wall)
    return {
        "found": found,
        "cpu_ms": round(1e3 * statistics.median(cpus), 1),
        "wall_ms": round(1e3 * statistics.median(walls), 1),
    }


def plot(rows: Sequence[dict[str, Any]]) -> None:
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "discovery", "svg.fonttype": "none", "font.size": 10})
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, panel = pyplot.subplots(figsize=(6, 3.8), layout="constrained")
    for color, share in enumerate(QUERIES):
        for by, style in (("matcher", "-"), ("discover", ":")):
            points = [row for row in rows if row["by"] == by and row["matching"] == share]
            sizes = [row["documents"] / 1000 for row in points]
            label = f"{by}, {share} match"
            panel.plot(
                sizes, [row["cpu_ms"] / 1000 for row in points], style, marker=".", color=f"C{color}", label=label
            )
    panel.set(title="Fig. 11: one XPath query", xlabel="thousand stored documents", ylabel="CPU seconds")
    panel.set_ylim(0)
    panel.grid(alpha=0.3)
    panel.legend(frameon=False, fontsize=8)
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "discovery.svg", metadata={"Date": None})
    figure.savefig(IMAGES / "discovery.png", dpi=110)


def write_page(rows: Sequence[dict[str, Any]]) -> None:
    """CPU milliseconds by the number of documents, a column for each way and share."""
    at = {(row["by"], row["matching"], row["documents"]): row for row in rows}
    keys = [(by, share) for by in ("matcher", "discover") for share in QUERIES]
    lines = []
    for size in SIZES:
        cells = [at.get((by, share, size)) for by, share in keys]
        lines.append([f"{size:,}", *("–" if row is None else f"{row['cpu_ms']:,.0f}" for row in cells)])
    headings = ["documents", *(f"{by}, {share} match" for by, share in keys)]
    picture = "![Time of one XPath query against stored documents](img/discovery.svg)\n\n"
    replace_block(
        "discovery",
        f"CPU ms of one query.\n\n{table(headings, lines)}\n\n"
        f"{picture if (IMAGES / 'discovery.svg').exists() else ''}{made_by('python benchmarks/discovery.py --page')}",
        page=PAGE,
    )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object per point")
    ask.add_argument("--page", action="store_true", help="also write docs/reproduction.md and the plot")
    given = ask.parse_args()
    rows = []
    for series in (measure_in_process, measure_on_spark):
        for row in series(given.seed):
            rows.append(row)
            shown = json.dumps(row) if given.json else ", ".join(f"{key} {value}" for key, value in row.items())
            print(shown, flush=True)
    if given.page:
        if importlib.util.find_spec("matplotlib"):
            plot(rows)
        else:
            print("no plot: matplotlib is not installed. pip install matplotlib adds it.", file=sys.stderr)
        write_page(rows)


if __name__ == "__main__":
    main()
