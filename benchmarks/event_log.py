"""What writing and reading the event log costs.

    python benchmarks/event_log.py --events 1000000 --json

writes events of one type (symbol, price, volume) once as Arrow columns and once as events, a tenth as many of these,
reads the columns back, and says the rows per second of each and the bytes a row takes.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from agvent.event import Event, EventId
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_verification import verify
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTE = AgventType(
    name="Quote",
    attributes=(
        AdvertisedAttribute("symbol", "str"),
        AdvertisedAttribute("price", "float"),
        AdvertisedAttribute("volume", "int"),
    ),
)
SYMBOLS = 2_000
BATCH = 100_000
"""Events in one commit."""


def columns(count: int, draw: np.random.Generator) -> Any:
    """Events as a broker would have them in columns."""
    sequence = np.arange(count)
    times = pa.array(int(NOON.timestamp() * 1e6) + sequence * 100, pa.timestamp("us", "UTC"))
    names = pa.array([f"S{number:04d}" for number in range(SYMBOLS)])
    return pa.table(
        {
            "publisher": pa.repeat("nyse", count),
            "sequence": sequence,
            "event_time": times,
            "accepted_at": times,
            "entry_broker": pa.repeat("b1", count),
            "epoch": pa.repeat(0, count),
            "symbol": names.take(pa.array(draw.integers(0, SYMBOLS, count))),
            "price": np.round(draw.uniform(1, 1_000, count), 2),
            "volume": draw.integers(1, 1_000_000, count),
        }
    )


def records(count: int, draw: np.random.Generator) -> list[LoggedEvent]:
    """Events as objects."""
    prices = np.round(draw.uniform(1, 1_000, count), 2).tolist()
    return [
        LoggedEvent(
            event=Event(
                type="Quote",
                attributes={"symbol": f"S{number % SYMBOLS:04d}", "price": price, "volume": number},
                time=NOON,
                id=EventId("nyse", count + number),
            ),
            accepted_at=NOON,
            entry_broker="b1",
            epoch=0,
        )
        for number, price in enumerate(prices)
    ]


def seconds(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measured(count: int, seed: int, log: Path) -> dict[str, float]:
    draw = np.random.default_rng(seed)
    table, objects = columns(count, draw), records(max(1, count // 10), draw)
    create_log(log)
    with LogWriter(log) as writer:
        writer.append_catalogue(
            advertisements=[Advertisement(type=QUOTE, publisher="nyse", broker="b1", advertised_at=NOON)]
        )

        def write_columns() -> None:
            for start in range(0, count, BATCH):
                writer.append_event_tables([("Quote", table.slice(start, BATCH))])

        by_columns = seconds(write_columns)
        size = sum(segment.bytes for segment in writer.heads["events"].segments)
        by_objects = seconds(lambda: writer.append_events(objects))
    reader = LogReader(log)
    return {
        "events": count,
        "write_columns_per_s": count / by_columns,
        "write_events_per_s": len(objects) / by_objects,
        "read_columns_per_s": (count + len(objects)) / seconds(lambda: reader.event_table("Quote", QUOTE.schema)),
        "verify_per_s": (count + len(objects)) / seconds(lambda: verify(log)),
        "bytes_per_event": size / count,
    }


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--events", type=int, default=1_000_000)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true")
    given = ask.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measured(given.events, given.seed, Path(folder) / "log")
    if given.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:22} {value:14,.0f}")


if __name__ == "__main__":
    main()
