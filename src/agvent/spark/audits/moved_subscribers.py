"""The subscribers of a log that moved, and what they left at the homes where they were.

Read from the catalogue before Spark begins: there are few of them, and a log without any costs nothing more.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pyarrow as pa

from agvent.store.log_reader import LogReader

SUBSCRIBERS: Final = pa.schema([("subscriber", pa.string()), ("has_moved", pa.bool_())])

LEFT: Final = pa.schema(
    [("home_broker", pa.string()), ("subscription", pa.string()), ("version", pa.int64()), ("left_at", pa.int64())]
)


class MovedVersion(NamedTuple):
    """A version of a subscriber with several homes, and the epochs of its own home at which it was in force."""

    home: str
    version: int
    from_epoch: int
    to_epoch: int | None


class MovedSubscribers(NamedTuple):
    """Subscribers that had several homes, and the versions that they left as the last of a stay, with the epoch of that
    home: tables of Arrow."""

    subscribers: Any
    left: Any


def moved_subscribers(reader: LogReader) -> MovedSubscribers | None:
    """Those of a log, if there are any."""
    versions = reader.versions()
    homes = versions.group_by("subscriber").aggregate([("home_broker", "count_distinct")]).to_pylist()
    moved = {row["subscriber"] for row in homes if row["home_broker_count_distinct"] > 1}
    if not moved:
        return None
    home_of = {
        (row["subscription"], row["version"]): row["home_broker"]
        for row in versions.select(["subscription", "version", "home_broker", "subscriber"]).to_pylist()
        if row["subscriber"] in moved
    }
    found: dict[str, list[MovedVersion]] = defaultdict(list)
    for row in reader.in_force().to_pylist():
        home = home_of.get((row["subscription"], row["version"]))
        if home is not None and row["entry_broker"] == home:
            found[row["subscription"]].append(MovedVersion(home, row["version"], row["from_epoch"], row["to_epoch"]))
    left = {
        (one.home, subscription, one.version): one.to_epoch
        for subscription, theirs in found.items()
        for one in _last_of_stays(theirs)
        if one.to_epoch is not None
    }
    return MovedSubscribers(
        pa.Table.from_pylist([{"subscriber": one, "has_moved": True} for one in sorted(moved)], SUBSCRIBERS),
        pa.Table.from_pylist([dict(zip(LEFT.names, (*key, at), strict=True)) for key, at in left.items()], LEFT),
    )


def _last_of_stays(versions: list[MovedVersion]) -> Iterator[MovedVersion]:
    """The client numbers its versions wherever it is: the next one at a home is of another stay if there was one
    elsewhere in between."""
    for home in {one.home for one in versions}:
        here = sorted((one for one in versions if one.home == home), key=lambda one: one.from_epoch)
        elsewhere = [one.version for one in versions if one.home != home]
        for one, after in pairwise(here):
            if any(one.version < version < after.version for version in elsewhere):
                yield one
        yield here[-1]
