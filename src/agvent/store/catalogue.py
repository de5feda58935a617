"""The catalogue: which version of which subscription was in force at which epoch of which entry broker.

Each home broker's changes are one ordered stream. An entry broker's epochs say how far it had applied each of them. A
version is in force there from the first epoch that has its opening, until the first that has its close.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agvent.errors import LogFileError
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.store.values import decode_values, encode_values

IN_FORCE: Final = pa.schema(
    [
        pa.field("entry_broker", pa.string(), nullable=False),
        pa.field("subscription", pa.string(), nullable=False),
        pa.field("version", pa.int64(), nullable=False),
        pa.field("from_epoch", pa.int64(), nullable=False),
        pa.field("to_epoch", pa.int64()),
    ]
)

NEVER: Final = np.iinfo(np.int64).max


def subscription_row(
    subscription: Subscription, *, version: int, subscriber: str, home_broker: str, created_at: datetime
) -> dict[str, Any]:
    """The row of `subscriptions` for a version of a subscription."""
    row = {name: getattr(subscription, name) for name in ("language", "filter", "type", "pattern")}
    for name in ("topic", "channel"):
        value = getattr(subscription, name)
        row[f"{name}_number" if isinstance(value, int) else name] = value
    row |= {"subscription": subscription.id, "version": version, "subscriber": subscriber}
    context = None if subscription.context is None else encode_values(subscription.context)
    return {**row, "home_broker": home_broker, "created_at": created_at, "context": context}


def subscription_in(row: dict[str, Any]) -> Subscription:
    """The subscription a row of `subscriptions` says."""
    return Subscription(
        id=row["subscription"],
        language=row["language"],
        filter=row["filter"],
        type=row["type"],
        topic=row["topic_number"] if row["topic"] is None else row["topic"],
        pattern=row["pattern"],
        channel=row["channel_number"] if row["channel"] is None else row["channel"],
        context=None if row["context"] is None else decode_values(row["context"]),
    )


def version_id(subscription: str, version: int) -> str:
    """The id of a version in a compiled index, where versions of one subscription stand side by side."""
    return f"{subscription}@{version}"


def in_force(changes: Any, epochs: Any) -> Any:
    """The in-force table of the changes of all home brokers and the epochs of all entry brokers."""
    spans = _spans(changes)
    parts = [IN_FORCE.empty_table()]
    for (entry, home), steps in _by_pair(epochs).items():
        at_home = spans.filter(pc.equal(spans["home_broker"], home))
        begin = _first_epoch(steps, at_home["opened"].to_numpy())
        end = _first_epoch(steps, at_home["closed"].to_numpy())
        kept = np.flatnonzero(begin < end)
        there = at_home.take(kept)
        to_epoch = pa.array(end[kept], mask=end[kept] == NEVER)
        columns = [pa.repeat(entry, len(kept)), there["subscription"], there["version"], begin[kept], to_epoch]
        parts.append(pa.table(columns, schema=IN_FORCE))
    return pa.concat_tables(parts).combine_chunks()


def _spans(changes: Any) -> Any:
    """Each version that was opened, with the positions of its opening and its close in its home broker's stream."""
    keys = ["home_broker", "subscription", "version"]
    opened = changes.filter(pc.equal(changes["change"], "open")).select([*keys, "position"])
    closed = changes.filter(pc.equal(changes["change"], "close")).select([*keys, "position"])
    both = opened.rename_columns([*keys, "opened"]).join(closed.rename_columns([*keys, "closed"]), keys)
    both = both.sort_by([("home_broker", "ascending"), ("opened", "ascending")])
    return both.set_column(both.column_names.index("closed"), "closed", pc.fill_null(both["closed"], NEVER))


def _by_pair(epochs: Any) -> dict[tuple[str, str], tuple[Any, Any]]:
    """For each entry broker and home broker the epochs at which more was applied, and up to which position."""
    ordered = epochs.sort_by([("entry_broker", "ascending"), ("home_broker", "ascending"), ("epoch", "ascending")])
    pairs = ordered.group_by(["entry_broker", "home_broker"], use_threads=False).aggregate(
        [("epoch", "list"), ("position", "list")]
    )
    found = {}
    for row in range(pairs.num_rows):
        epoch, position = (pairs[name][row].values.to_numpy() for name in ("epoch_list", "position_list"))
        pair = (pairs["entry_broker"][row].as_py(), pairs["home_broker"][row].as_py())
        found[pair] = (epoch, np.maximum.accumulate(position))
    return found


def _first_epoch(steps: tuple[Any, Any], positions: Any) -> Any:
    """The first epoch at which each position was applied, NEVER if it was not."""
    epoch, applied = steps
    return np.append(epoch, NEVER)[np.searchsorted(applied, positions)]


def versions_in_force(subscriptions: Any, intervals: Any) -> Any:
    """The rows of `subscriptions` that are in force somewhere at some time, with their id in the compiled index."""
    wanted = intervals.group_by(["subscription", "version"]).aggregate([])
    rows = subscriptions.join(wanted, ["subscription", "version"], join_type="left semi")
    if rows.num_rows < wanted.num_rows:
        missing = wanted.join(subscriptions, ["subscription", "version"], join_type="left anti").to_pylist()[0]
        raise LogFileError(f"version {missing['version']} of {missing['subscription']!r} came into force without a row")
    rows = rows.sort_by([("subscription", "ascending"), ("version", "ascending")])
    version = rows["version"].cast(pa.string())
    return rows.append_column("id", pc.binary_join_element_wise(rows["subscription"], version, "@"))


def compiled(versions: Iterable[dict[str, Any]]) -> Subscriptions:
    """The index over versions of subscriptions, each under its `version_id`."""
    renamed = (
        msgspec.structs.replace(subscription_in(row), id=version_id(row["subscription"], row["version"]))
        for row in versions
    )
    return Subscriptions(renamed)
