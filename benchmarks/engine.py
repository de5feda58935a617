"""What every engine that is measured has in common: its files, its clock and its report.

An engine is made of a subscriptions file, takes JSON Lines in batches and gives matches. Each is a program of its own,

    python benchmarks/scan.py SUBSCRIPTIONS EVENTS --seconds 2

that prints one JSON object, so that each is measured in a fresh process, and none inherits another's memory or heat.
Rules: one thread on one core; compilation and the building of the index are outside the measured time, parsing the
events is inside; matches are counted as rows of integers. `counts` is how many subscriptions each of the first events
matches: engines that do not agree on it may not be compared.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

BATCH: Final = 8_192
"""Events given to an engine at once: a megabyte of JSON, a broker's queue under load."""

COUNTED: Final = 200
"""Events over which engines must agree; a slow engine counts as many of them as it reached."""


class Wanted(msgspec.Struct):
    """A line of the subscriptions file, as an engine without SQL reads it."""

    predicates: tuple[tuple[Any, ...], ...]


class Rate(msgspec.Struct, frozen=True):
    """Events per second over several repetitions, each of `events` events."""

    events: int
    median: float
    slowest: float
    fastest: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What an engine's program prints."""

    engine: str
    rate: Rate
    build_s: float
    parse_share: float | None
    matches_per_event: float
    peak_rss_bytes: int
    index_bytes: int | None
    counts: list[int]


class Engine(Protocol):
    """A way to match events."""

    def match(self, data: bytes) -> int:
        """How many rows (event, subscription) the events of these whole lines give."""

    def counts(self, data: bytes) -> list[int]:
        """How many subscriptions each event matches."""

    def parse(self, data: bytes) -> object:
        """The part of `match` that only reads the JSON."""

    def index_bytes(self) -> int | None:
        """What the engine holds in memory to match with, where it can tell."""


def predicates_of(path: Path) -> Iterator[tuple[tuple[Any, ...], ...]]:
    """The predicates of every subscription in a file."""
    decode = msgspec.json.Decoder(Wanted).decode
    with path.open("rb") as lines:
        for line in lines:
            yield decode(line).predicates


def batches(lines: list[bytes], size: int = BATCH) -> list[bytes]:
    """Lines joined to batches."""
    return [b"".join(lines[start : start + size]) for start in range(0, len(lines), size)]


def rate_of(work: Callable[[bytes], object], lines: list[bytes], *, seconds: float, repetitions: int = 5) -> Rate:
    """Times `work` over a prefix of the lines long enough to fill the seconds, spread over the repetitions."""
    events = 1
    while (took := _time(work, batches(lines[:events]))) < seconds / repetitions / 4 and events < len(lines):
        events = min(len(lines), events * 4)
    events = max(1, min(len(lines), int(events * seconds / repetitions / took)))
    given = batches(lines[:events])
    rates = [events / _time(work, given) for _ in range(repetitions)]
    return Rate(events, statistics.median(rates), min(rates), max(rates))


def _time(work: Callable[[bytes], object], given: list[bytes]) -> float:
    gc.collect()
    start = time.perf_counter()
    for data in given:
        work(data)
    return time.perf_counter() - start


def one_core() -> None:
    """Keeps this process, and what Numba would spread, on one core: the last, away from most interrupts."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def peak_rss_bytes() -> int:
    """The most memory this program had. `getrusage` would include what the parent had when it started us."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


def measure(
    name: str, build: Callable[[Path], Engine], subscriptions: Path, lines: list[bytes], seconds: float
) -> Report:
    """Builds an engine, warms it, and times it."""
    start = time.perf_counter()
    engine = build(subscriptions)
    build_s = time.perf_counter() - start
    engine.match(lines[0])
    engine.parse(lines[0])
    rate = rate_of(engine.match, lines, seconds=seconds)
    parsing = rate_of(engine.parse, lines[: rate.events], seconds=seconds / 4)
    measured = lines[: rate.events]
    return Report(
        engine=name,
        rate=rate,
        build_s=build_s,
        parse_share=rate.median / parsing.median,
        matches_per_event=sum(engine.match(data) for data in batches(measured)) / len(measured),
        peak_rss_bytes=peak_rss_bytes(),
        index_bytes=engine.index_bytes(),
        counts=engine.counts(b"".join(measured[:COUNTED])),
    )


def main(name: str, build: Callable[[Path], Engine]) -> None:
    """An engine's program."""
    ask = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
    ask.add_argument("subscriptions", type=Path)
    ask.add_argument("events", type=Path)
    ask.add_argument("--seconds", type=float, default=2.0, help="time to measure for")
    given = ask.parse_args()
    one_core()
    lines = given.events.read_bytes().splitlines(keepends=True)
    report = measure(name, build, given.subscriptions, lines, given.seconds)
    sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
