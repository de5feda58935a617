"""A hundred million events against a hundred thousand subscriptions into deliveries per subscriber, on this machine.

    python benchmarks/spark_scale.py --events 100000000 --subscriptions 100000 --json
    python benchmarks/spark_scale.py --page         the same into docs/performance.md

The events are generated in pieces, as Parquet. Then one job reads them in the tasks, matches them, counts the matches
of each subscription in the Python workers, and adds the counts up. Prints the time of each stage, and the most memory
that the process tree had after the events were made, sampled every half second.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from page import made_by, replace_block, short, table
from process_tree import cpu_seconds, resident_bytes
from workloads import workload

PIECE: Final = 1_000_000
ROW_GROUP: Final = 131_072
SAMPLE_S: Final = 0.5


def generate(folder: Path, name: str, *, events: int, seed: int) -> None:
    """The events as files of a million rows."""
    folder.mkdir()
    made = workload(name, seed)
    for piece in range(-(-events // PIECE)):
        rows = min(PIECE, events - piece * PIECE)
        numbers = range(piece * PIECE, piece * PIECE + rows)
        columns = {"event": pa.array(numbers, pa.int64()), **made.columns(rows, piece=piece)}
        pq.write_table(pa.table(columns), folder / f"{piece:05d}.parquet", row_group_size=ROW_GROUP, compression="zstd")


class Peak:
    """The most memory that this process and all below it had, while `with` lasts."""

    def __init__(self) -> None:
        self.bytes = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self.bytes = max(self.bytes, resident_bytes(os.getpid()))


def measure(folder: Path, name: str, *, events: int, subscriptions: int, seed: int) -> dict[str, Any]:
    from agvent.spark import count_matches, session  # noqa: PLC0415 - the events are made before Spark takes memory
    from agvent.spark.rosters.subscription_source import roster_of  # noqa: PLC0415

    stages: dict[str, float] = {}
    last = time.perf_counter()

    def done(stage: str) -> None:
        nonlocal last
        now = time.perf_counter()
        stages[stage], last = round(now - last, 2), now

    generate(folder / "events", name, events=events, seed=seed)
    wanted, _ = workload(name, seed).write(folder, subscriptions=subscriptions, events=0)
    done("generate")
    with Peak() as peak:
        roster = roster_of(wanted)
        done("build the index")
        with session(config={"spark.driver.memory": "1g"}) as spark:
            spark.range(1).count()
            done("start Spark")
            cpu = cpu_seconds(os.getpid())
            counted = count_matches(str(folder / "events"), roster).toArrow()
            done("match and count")
            cpu = cpu_seconds(os.getpid()) - cpu
    seconds = stages["match and count"]
    return {
        "workload": name,
        "events": events,
        "subscriptions": subscriptions,
        "seed": seed,
        "seconds": stages,
        "events_per_s": round(events / seconds),
        "cpu_s_per_million": round(cpu / events * 1e6, 2),
        "matches": sum(counted["matches"].to_pylist()),
        "subscribers_with_matches": counted.num_rows,
        "events_bytes": sum(file.stat().st_size for file in (folder / "events").iterdir()),
        "peak_rss_bytes": peak.bytes,
    }


def write_page(row: dict[str, Any]) -> None:
    """The block of docs/performance.md."""
    stages = [[stage, f"{seconds:,.1f} s"] for stage, seconds in row["seconds"].items()]
    totals = [
        ["events/s", short(row["events_per_s"])],
        ["CPU-seconds per million events", short(row["cpu_s_per_million"])],
        ["matches", short(row["matches"])],
        ["events on disk", f"{row['events_bytes'] / 1e9:.1f} GB"],
        ["peak memory", f"{row['peak_rss_bytes'] / 1e9:.1f} GB"],
    ]
    what = f"{row['workload']}: {short(row['events'])} events, {short(row['subscriptions'])} subscriptions"
    command = f"python benchmarks/spark_scale.py --workload {row['workload']} --events {row['events']} --page"
    replace_block("spark-scale", f"{table((what, ''), [*stages, *totals])}\n\n{made_by(command)}")


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--workload", choices=("A1", "A2", "M"), default="A1")
    ask.add_argument("--events", type=int, default=100_000_000)
    ask.add_argument("--subscriptions", type=int, default=100_000)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--folder", type=Path, help="where the events are written; a temporary folder unless given")
    ask.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    ask.add_argument("--page", action="store_true", help="write the table of docs/performance.md")
    given = ask.parse_args()
    options = {"events": given.events, "subscriptions": given.subscriptions, "seed": given.seed}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        row = measure(Path(folder), given.workload, **options)
    print(json.dumps(row) if given.json else "\n".join(f"{key:26} {value}" for key, value in row.items()))
    if given.page:
        write_page(row)


if __name__ == "__main__":
    main()
