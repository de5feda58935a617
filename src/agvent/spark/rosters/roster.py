"""A roster: an index, what its ordinals are called, and when each was in force. One file, mapped by every worker.

The file is a saved index with the roster's own arrays beside the index's, so a worker that opens it reads a header and
maps the rest. `names` has a row for each ordinal, with the columns `subscription` and, if there are versions,
`version`: what a match says instead of a number.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from agvent.errors import CallerError
from agvent.filters.subscription import Subscription
from agvent.matching.index.freeze import Arrays
from agvent.matching.index.in_force import FOREVER, InForce, Intervals
from agvent.matching.subscriptions import Subscriptions
from agvent.store.index_file import load_index_with_arrays, save_index

NAMES = "roster.names"
BROKERS = "roster.brokers"
AUDIENCE = "roster.audience"
INTERVALS = "roster.intervals."

INTERVAL_COLUMNS = ("entry_broker", "subscription", "version", "from_epoch", "to_epoch")


class Roster:
    """Who may be matched. Without `in_force`, everybody is at every time.

    `audience` is who is behind each ordinal, as publishers' own filters see them: `subscriber`, and `context` as JSON.
    """

    def __init__(
        self,
        index: Subscriptions,
        names: pa.RecordBatch,
        in_force: InForce | None = None,
        audience: pa.RecordBatch | None = None,
    ) -> None:
        self.index = index
        self.names = names
        self.in_force = in_force
        self.audience = audience

    @cached_property
    def ordinals(self) -> dict[str, int]:
        """The ordinal of each id of the index."""
        return {id: at for at, id in enumerate(self.index.ids())}

    @classmethod
    def of(cls, index: Subscriptions) -> Roster:
        """An index as it is: its ids are the names."""
        return cls(index, pa.record_batch({"subscription": pa.array(index.ids(), pa.string())}))

    @classmethod
    def of_versions(cls, versions: Iterable[tuple[Subscription, Any]], intervals: pa.Table) -> Roster:
        """Versions of subscriptions, several of one id perhaps, and the epochs in which each was in force.

        `intervals` has the columns entry_broker, subscription, version, from_epoch and to_epoch; a to_epoch of null is
        an interval that is still open. A version without an interval was in force nowhere.
        """
        listed = list(versions)
        names = pa.record_batch(
            {
                "subscription": pa.array([subscription.id for subscription, _ in listed], pa.string()),
                "version": pa.array([version for _, version in listed], _version_type(intervals)),
            }
        )
        index = Subscriptions(_numbered(subscription, at) for at, (subscription, _) in enumerate(listed))
        assert [int(id) for id in index.ids()] == list(range(len(listed))), "an ordinal is a place in the list"
        return cls(index, names, _in_force(names, intervals))

    @classmethod
    def of_index(
        cls, index: Subscriptions, names: pa.RecordBatch, intervals: pa.Table, audience: pa.RecordBatch
    ) -> Roster:
        """An index whose ordinals are versions: `names` has their subscription and version, and may have more."""
        return cls(index, names, _in_force(names.select(["subscription", "version"]), intervals), audience)

    def save(self, folder: Path) -> Path:
        """Writes the roster into a folder, under a name that is the hash of what is in it."""
        partial = folder / f".roster.{os.getpid()}.{id(self)}"
        save_index(self.index, partial, beside=self._arrays())
        with partial.open("rb") as source:
            digest = hashlib.file_digest(source, "sha256").hexdigest()
        return partial.replace(folder / f"agvent-{digest[:32]}.index")

    def _arrays(self) -> Arrays:
        arrays: Arrays = {NAMES: _ipc(self.names)}
        if self.audience is not None:
            arrays[AUDIENCE] = _ipc(self.audience)
        if self.in_force is not None:
            arrays |= {INTERVALS + name: array for name, array in self.in_force.intervals._asdict().items()}
            arrays[BROKERS] = _ipc(pa.record_batch({"entry_broker": pa.array(self.in_force.brokers, pa.string())}))
        return arrays

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, verify: bool = True) -> Roster:
        """Maps a saved roster; a saved index without one serves too, with its ids as names."""
        index, arrays = load_index_with_arrays(path, verify=verify)
        if NAMES not in arrays:
            return cls.of(index)
        audience = _batch(arrays[AUDIENCE]) if AUDIENCE in arrays else None
        if BROKERS not in arrays:
            return cls(index, _batch(arrays[NAMES]), audience=audience)
        intervals = Intervals(*(arrays[INTERVALS + name] for name in Intervals._fields))
        brokers = _batch(arrays[BROKERS]).column(0).to_pylist()
        return cls(index, _batch(arrays[NAMES]), InForce(intervals, brokers), audience)


def audience_of(versions: pa.Table) -> pa.RecordBatch:
    """Who is behind the rows of a catalogue's `subscriptions`."""
    columns = versions.select(["subscriber", "context"]).combine_chunks()
    return pa.record_batch([column.combine_chunks() for column in columns.columns], columns.column_names)


def _numbered(subscription: Subscription, at: int) -> Subscription:
    """The subscription under its place in the list: an index holds an id once, a roster holds all its versions."""
    return Subscription(
        id=str(at),
        language=subscription.language,
        filter=subscription.filter,
        type=subscription.type,
        topic=subscription.topic,
        pattern=subscription.pattern,
        channel=subscription.channel,
    )


def _version_type(intervals: pa.Table) -> pa.DataType:
    missing = [name for name in INTERVAL_COLUMNS if name not in intervals.column_names]
    if missing:
        raise CallerError(f"the intervals have no column {missing[0]}", hint=f"they need {', '.join(INTERVAL_COLUMNS)}")
    return intervals.schema.field("version").type


def _in_force(names: pa.RecordBatch, intervals: pa.Table) -> InForce:
    """The intervals by ordinal. One that names an unknown version is refused: its matches would be missing."""
    places = {pair: at for at, pair in enumerate(zip(*(c.to_pylist() for c in names.columns), strict=True))}
    pairs = zip(intervals["subscription"].to_pylist(), intervals["version"].to_pylist(), strict=True)
    try:
        ordinals = np.fromiter((places[pair] for pair in pairs), np.int64, len(intervals))
    except KeyError as error:
        subscription, version = error.args[0]
        raise CallerError(f"an interval names version {version!r} of {subscription!r}, which does not exist") from None
    return InForce.of(
        ordinals=ordinals,
        brokers=intervals["entry_broker"].to_pylist(),
        from_epoch=_epochs(intervals["from_epoch"]),
        to_epoch=_epochs(intervals["to_epoch"].fill_null(FOREVER)),
        count=names.num_rows,
    )


def _epochs(column: pa.ChunkedArray) -> Any:
    if column.null_count:
        raise CallerError("an interval has no from_epoch")
    return column.cast(pa.int64()).to_numpy()


def _ipc(batch: pa.RecordBatch) -> Any:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return np.frombuffer(sink.getvalue(), np.uint8)


def _batch(stored: Any) -> pa.RecordBatch:
    """The record batch in an array, on the array's own memory."""
    return pa.ipc.open_file(pa.py_buffer(stored)).get_batch(0)
