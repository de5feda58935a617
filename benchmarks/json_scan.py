"""JSON lines per second: the scanner, pyarrow.json and msgspec over the same lines, on one core.

    python benchmarks/json_scan.py [--lines 80000] [--json]

    quote     five fields, all asked for: a string of 10,000 known ones, three numbers, a short string
    quote17   the same with prices of 17 digits
    wide      nine fields, three asked for; Unicode, escapes and a list among the others
    timed     the five fields after a `$time`
    escaped   a name with `\\u` escapes, asked for

Figures are lines a second of processor time, the best of several runs. pyarrow.json is given the schema of the lines,
as it needs to be right, and makes columns of all fields; msgspec makes dicts, which are no columns yet.
"""

from __future__ import annotations

import argparse
import io
import json
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.json as pj

from agvent.event import Kind
from agvent.filters.tree import Attribute
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.encoders.json_lines import encode_json

SYMBOLS: Final = 10_000
RUNS: Final = 7
EXCHANGES: Final = ("NYSE", "NASDAQ", "LSE")

Fields = dict[str, Kind]
QUOTE: Final[Fields] = {
    "symbol": Kind.STRING, "price": Kind.NUMBER, "volume": Kind.NUMBER, "exchange": Kind.STRING, "change": Kind.NUMBER,
}  # fmt: skip


def quote(draw: np.random.Generator) -> dict[str, Any]:
    return {
        "symbol": f"S{draw.integers(SYMBOLS + 2_000):04d}",
        "price": int(draw.integers(100_000)) / 100,
        "volume": int(draw.integers(1_000_000)),
        "exchange": EXCHANGES[draw.integers(len(EXCHANGES))],
        "change": int(draw.integers(-1_000, 1_000)) / 100,
    }


def wide(draw: np.random.Generator) -> dict[str, Any]:
    return {
        "symbol": f"S{draw.integers(SYMBOLS + 2_000):04d}", "name": "Some company Ltd",
        "price": int(draw.integers(100_000)) / 100, "country": 'Türkiye "x"',
        "volume": int(draw.integers(1_000_000)), "bid": 12.375, "sector": "energy and others", "open": True,
        "ask": [1, 2, 3],
    }  # fmt: skip


SHAPES: Final[dict[str, tuple[Callable[[np.random.Generator], dict[str, Any]], Fields]]] = {
    "quote": (quote, QUOTE),
    "quote17": (lambda draw: quote(draw) | {"price": float(draw.random())}, QUOTE),
    "wide": (wide, {"symbol": Kind.STRING, "price": Kind.NUMBER, "volume": Kind.NUMBER}),
    "timed": (lambda draw: {"$time": f"2026-03-01T12:00:{draw.integers(60):02d}.5Z", **quote(draw)}, QUOTE),
    "escaped": (lambda draw: {"name": f"Çağrı {draw.integers(100)}"}, {"name": Kind.STRING}),
}


def lines_of(shape: str, count: int) -> bytes:
    make, _ = SHAPES[shape]
    draw = np.random.default_rng(1)
    return "".join(json.dumps(make(draw), ensure_ascii=shape == "escaped") + "\n" for _ in range(count)).encode()


def known_strings() -> Strings:
    strings = Strings()
    for word in (*(f"S{number:04d}" for number in range(SYMBOLS)), *EXCHANGES[:2]):
        strings.code(word.encode())
    strings.flush()
    return strings


def best(run: Callable[[], object], count: int) -> float:
    """Lines a second of processor time."""
    times = []
    for _ in range(RUNS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return count / min(times)


def measured(shape: str, count: int) -> dict[str, float]:
    data = lines_of(shape, count)
    slots, strings = Slots(), known_strings()
    for name, kind in SHAPES[shape][1].items():
        slots.value(Attribute((name,)), kind)
    schema = pa.RecordBatch.from_pylist([json.loads(data.splitlines()[0])]).schema
    options = pj.ParseOptions(explicit_schema=schema)
    reading = pj.ReadOptions(use_threads=False, block_size=len(data))
    decoder = msgspec.json.Decoder()
    return {
        "bytes_per_line": len(data) / count,
        "agvent_lines_per_s": best(lambda: encode_json(data, slots, strings), count),
        "pyarrow_lines_per_s": best(lambda: pj.read_json(io.BytesIO(data), reading, options), count),
        "msgspec_lines_per_s": best(lambda: decoder.decode_lines(data), count),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=80_000, help="lines of each shape")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    found = {shape: measured(shape, options.lines) for shape in SHAPES}
    if options.json:
        print(json.dumps(found))
        return
    print(f"{'shape':8} {'bytes/line':>10} {'agvent':>12} {'pyarrow.json':>12} {'msgspec':>12}   lines/s")
    for shape, row in found.items():
        size, *speeds = row.values()
        print(f"{shape:8} {size:10.0f} " + " ".join(f"{speed:12,.0f}" for speed in speeds))


if __name__ == "__main__":
    main()
