"""What was due against what came, as each witness saw it; and the report that the demonstration ends with.

A delivery is named by its publisher, its sequence and its subscription.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from agvent.demo.way import AgventWay
from agvent.store.log_reader import LogReader

DEFECTS: Final = ("lost", "duplicated", "unexpected", "out_of_order")


class Due(NamedTuple):
    """An event for a subscription."""

    publisher: str
    sequence: int
    subscription: str


class WitnessTally(msgspec.Struct, frozen=True):
    """What one witness counted. Each delivery after the first of its name is duplicated; one that comes after a later
    one of its publisher, to the same subscription, is out of order."""

    expected: int
    delivered: int
    lost: int
    duplicated: int
    unexpected: int
    out_of_order: int

    @property
    def is_clean(self) -> bool:
        return not any(getattr(self, name) for name in DEFECTS)


def tally(expected: Iterable[Due], came: Sequence[Due]) -> WitnessTally:
    """Compares what came, in its order, with what should have.

    >>> due = [Due("house", number, "shop/wish") for number in (1, 2, 3)]
    >>> tally(due, [due[0], due[0], due[1], Due("house", 4, "shop/wish")])
    WitnessTally(expected=3, delivered=4, lost=1, duplicated=1, unexpected=1, out_of_order=0)
    """
    wanted, found = set(expected), Counter(came)
    return WitnessTally(
        expected=len(wanted),
        delivered=found.total(),
        lost=len(wanted - found.keys()),
        duplicated=found.total() - len(found),
        unexpected=len(found.keys() - wanted),
        out_of_order=_out_of_order(found),
    )


def _out_of_order(came: Iterable[Due]) -> int:
    last: dict[tuple[str, str], int] = {}
    late = 0
    for one in came:
        stream = one.publisher, one.subscription
        late += one.sequence < last.get(stream, 0)
        last[stream] = max(one.sequence, last.get(stream, 0))
    return late


def logged(log: str | os.PathLike[str]) -> list[Due]:
    """The deliveries of an event log, those of a subscription in their order."""
    rows = LogReader(log).table("deliveries").sort_by("position")
    return [Due(**row) for row in rows.select(Due._fields).to_pylist()]


def write_due(path: Path, expected: Iterable[Due]) -> None:
    """Keeps the oracle's answer beside the log, one JSON object a line."""
    path.write_bytes(b"".join(msgspec.json.encode(one._asdict()) + b"\n" for one in expected))


def read_due(path: Path) -> list[Due]:
    return [Due(**msgspec.json.decode(line)) for line in path.read_bytes().splitlines()]


class Fault(msgspec.Struct, frozen=True):
    """What was broken, and when; `healed_s` is when it was whole again."""

    fault: str
    where: str
    at_s: float
    healed_s: float


class DemoReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that the demonstration found. `witnesses` are the shops, the log and Spark's audit; `without_spark` says why
    the last is missing. `folder` is what was kept."""

    published: int
    faults: list[Fault]
    witnesses: Mapping[str, WitnessTally]
    ways: Mapping[str, AgventWay]
    without_spark: str | None
    folder: str | None
    seconds: float

    @property
    def is_clean(self) -> bool:
        return all(one.is_clean for one in self.witnesses.values())

    def as_json(self) -> dict[str, Any]:
        """The counts of the shops; of each kind of defect the most that any witness saw."""
        witnesses = self.witnesses.values()
        return {
            "published": self.published,
            "expected": self.witnesses["shops"].expected,
            "delivered": self.witnesses["shops"].delivered,
            **{name: max(getattr(one, name) for one in witnesses) for name in DEFECTS},
            "verdict": "clean" if self.is_clean else "not clean",
            "faults": msgspec.to_builtins(self.faults),
            "seconds": self.seconds,
            "without_spark": self.without_spark,
            "folder": self.folder,
            "witnesses": msgspec.to_builtins(self.witnesses),
            "ways": msgspec.to_builtins(self.ways),
        }
