"""The event log as its writer sees it: append, snapshot. One process writes a stream at a time.

A commit stages all its segments under hidden names, publishes them, and then replaces the head of its stream. A commit
that fails has changed nothing; one that was cut off is swept away when the log is next opened for writing.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agvent import limits
from agvent.errors import LogError
from agvent.store.catalogue import compiled
from agvent.store.event_columns import LoggedEvent, ancestor_column, event_schema, table_of
from agvent.store.heads import Dropped, Head, Segment, joined, lock_path, write_head
from agvent.store.index_file import save_index
from agvent.store.leftovers import sweep
from agvent.store.log_reader import LogReader, check_log, event_folder
from agvent.store.log_schema import QUALITIES, STREAMS, TABLES, TableForm, form_of, shaped
from agvent.store.positions import check_continues, positions
from agvent.store.segments import Staged, publish, stage_file, stage_table
from agvent.store.type_tables import attribute_rows, behaviour_rows, type_row
from agvent.types import Advertisement, AgventType, unadvertised

Rows = Any
"""A pyarrow.Table, or an iterable of dicts."""

Part = tuple[str, TableForm, Any]
"""A folder, the form of what goes into it, and the rows."""

Batch = tuple[str, int]
"""A writer that may try a commit again after a crash, and the number of this one of its own. What a stream has it does
not take again."""


class LogWriter:
    """Appends to a log. Each call is one commit: when it returns, its rows are on disk and readers see them.

    `streams` are those it may write, and nobody else meanwhile: all of them unless given. So one process can log events
    while another logs what it delivers.
    """

    def __init__(self, path: str | os.PathLike[str], *, streams: Sequence[str] = STREAMS) -> None:
        self.path = Path(path)
        assert "events" not in streams or "catalogue" in streams, "events name the catalogue version they need"
        check_log(self.path)
        self._locks = _locked(self.path, streams)
        reader = LogReader(self.path)
        self.heads = reader.heads
        self.streams = frozenset(streams)
        sweep(self.path, {stream: self.heads[stream] for stream in streams})
        self._types = reader.types
        self._current: dict[str, AgventType] = {name: type_ for (name, _), type_ in self._types.items()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets another process write."""
        for lock in self._locks:
            lock.close()

    def append(self, table: str, rows: Rows) -> Head:
        """Appends rows to a table: deliveries, gaps, traces, behaviours, cargoes, documents."""
        form = form_of(table)
        if form.stream in ("events", "catalogue"):
            raise LogError(f"{table} is not appended to by itself", hint="use append_events or append_catalogue")
        return self.append_tables(form.stream, {table: rows})

    def append_tables(self, stream: str, tables: Mapping[str, Rows], *, batch: Batch | None = None) -> Head:
        """Appends rows to tables of one stream, in one commit."""
        assert all(form_of(name).stream == stream for name in tables)
        return self._commit(
            stream, [(name, form_of(name), shaped(name, rows)) for name, rows in tables.items()], batch=batch
        )

    def append_catalogue(
        self,
        *,
        advertisements: Iterable[Advertisement] = (),
        withdrawn: Iterable[Advertisement] = (),
        subscriptions: Rows = (),
        changes: Rows = (),
        epochs: Rows = (),
        programs: Rows = (),
        batch: Batch | None = None,
    ) -> Head:
        """Appends to the catalogue in one commit, which is a new catalogue version."""
        if self._has("catalogue", batch):
            return self.heads["catalogue"]
        advertised = list(advertisements)
        new = {(a.type.name, a.type.schema): a.type for a in advertised}
        fresh = [type_ for key, type_ in new.items() if key not in self._types]
        rows: dict[str, Rows] = {
            "subscriptions": subscriptions,
            "changes": changes,
            "epochs": epochs,
            "programs": programs,
            "types": [type_row(a, "advertise") for a in advertised] + [type_row(a, "unadvertise") for a in withdrawn],
            "type_attributes": [row for type_ in fresh for row in attribute_rows(type_)],
            "type_behaviours": [row for type_ in fresh for row in behaviour_rows(type_)],
        }
        tables = {name: shaped(name, given) for name, given in rows.items()}
        for name, column in (("changes", "position"), ("epochs", "epoch")):
            check_continues(tables[name], TABLES[name], column, self._last(name, column))
        head = self._commit("catalogue", [(name, TABLES[name], table) for name, table in tables.items()], batch=batch)
        self._types |= new
        self._current |= {type_.name: type_ for type_ in new.values()}
        return head

    def append_events(self, records: Iterable[LoggedEvent], *, batch: Batch | None = None) -> Head:
        """Appends events of any types in one commit."""
        if self._has("events", batch):
            return self.heads["events"]
        groups: dict[tuple[str | None, str], list[LoggedEvent]] = {}
        for record in records:
            type_ = self._type(record.event.type, record.schema)
            groups.setdefault((record.event.type, type_.schema), []).append(record)
        tables = [(name, schema, table_of(group, self._type(name, schema))) for (name, schema), group in groups.items()]
        return self._append_events(tables, batch)

    def append_event_tables(self, tables: Sequence[tuple[str | None, Any]]) -> Head:
        """Appends events as Arrow tables, one or more for a type as it is advertised now, in one commit.

        The columns are those of the log. `position` is given by the log; `exact`, `ancestors` and `quality` may be left
        out: true, as advertised, durable.
        """
        given = []
        for name, table in tables:
            type_ = self._type(name, None)
            given.append((name, type_.schema, _completed(table, type_)))
        return self._append_events(given, None)

    def _append_events(self, tables: list[tuple[str | None, str, Any]], batch: Batch | None) -> Head:
        head = self.heads["events"]
        kept = [part for part in tables if part[2].num_rows]
        for _, _, table in kept:
            self._check_events(table)
        placed, ends = positions([table for _, _, table in kept], head.ends)
        parts: list[Part] = []
        for (name, schema, table), position in zip(kept, placed, strict=True):
            whole = event_schema(self._type(name, schema))
            full = shaped("events", table.append_column("position", position), whole)
            parts.append((event_folder(name, schema), TABLES["events"], full))
        return self._commit("events", parts, batch=batch, ends=ends, catalogue=self.heads["catalogue"].number)

    def _check_events(self, table: Any) -> None:
        unknown = set(pc.unique(table["quality"]).to_pylist()) - set(QUALITIES)
        if unknown:
            raise LogError(f"an event's quality is {' or '.join(QUALITIES)}, not {min(unknown, key=str)!r}")
        known = self._last("epochs", "epoch")
        latest = table.group_by("entry_broker").aggregate([("epoch", "max")]).to_pylist()
        for row in latest:
            if row["epoch_max"] is not None and row["epoch_max"] > known.get(row["entry_broker"], 0):
                raise LogError(
                    f"an event has epoch {row['epoch_max']} of {row['entry_broker']!r}, which the catalogue lacks",
                    hint="append the catalogue before the events that need it",
                )

    def _type(self, name: str | None, schema: str | None) -> AgventType:
        current = unadvertised(None) if name is None else self._current.get(name, unadvertised(name))
        if schema is None or schema == current.schema:
            return current
        found = self._types.get((name or "", schema))
        if found is None:
            raise LogError(f"{name!r} with the schema {schema} is without an advertisement")
        return found

    def _last(self, table: str, column: str) -> dict[str, int]:
        """The greatest value of a column for each broker, from the head's ranges."""
        found: dict[str, int] = {}
        for segment in self.heads[TABLES[table].stream].segments:
            if segment.path.startswith(f"{table}/"):
                for broker, facts in segment.ranges.items():
                    found[broker] = max(found.get(broker, 0), facts[column][1])
        return found

    def snapshot(self) -> Head:
        """Compiles the catalogue of the newest version into an index that workers map."""
        version = self.heads["catalogue"].number
        folder = f"snapshots/catalogue={version}"
        if any(one.path.startswith(f"{folder}/") for one in self.heads["snapshots"].segments):
            return self.heads["snapshots"]
        reader = LogReader(self.path)
        intervals, versions = reader.in_force(catalogue=version), reader.versions(catalogue=version)
        index = compiled(versions.to_pylist())
        since = self.heads["snapshots"].number + 1
        files = [
            stage_file(
                self.path, f"{folder}/index.agx", lambda to: save_index(index, to), rows=len(index), since=since
            ),
            _stage_plain(self.path, f"{folder}/versions.parquet", versions, since),
            _stage_plain(self.path, f"{folder}/in_force.parquet", intervals, since),
        ]
        return self._publish("snapshots", files)

    def adopt(self, stream: str, files: Sequence[Staged], *, batch: Batch | None = None) -> Head:
        """Names files that others staged in this log, as one commit.

        `batch` is who staged them and the number of this batch of theirs. One whose number is not greater than that of
        the last is not taken again: then the files are removed, and the head stays.
        """
        head = self.heads[stream]
        if self._has(stream, batch):
            for file in files:
                file.hidden.unlink(missing_ok=True)
            return head
        named = [_numbered(file, at, head.number + 1) for at, file in enumerate(files)]
        for file in named:
            (self.path / file.segment.path).parent.mkdir(parents=True, exist_ok=True)
        return self._publish(stream, named, batch=batch)

    def drop(self, stream: str, gone: Sequence[Segment]) -> Head:
        """Takes segments out of a stream: first out of its head, then off the disk."""
        head = self.heads[stream]
        paths = {one.path for one in gone}
        dropped = head.dropped
        for one in gone:
            dropped = Dropped(
                upto=max(dropped.upto, one.since),
                segments=dropped.segments + 1,
                rows=dropped.rows + one.rows,
                bytes=dropped.bytes + one.bytes,
                ranges=joined(dropped.ranges, one.ranges),
            )
        self._replace(stream, segments=[one for one in head.segments if one.path not in paths], dropped=dropped)
        for path in paths:
            (self.path / path).unlink(missing_ok=True)
        return self.heads[stream]

    def _has(self, stream: str, batch: Batch | None) -> bool:
        return batch is not None and self.heads[stream].batches.get(batch[0], -1) >= batch[1]

    def _commit(self, stream: str, parts: list[Part], *, batch: Batch | None, **changed: Any) -> Head:
        if self._has(stream, batch):
            return self.heads[stream]
        number = self.heads[stream].number + 1
        staged: list[Staged] = []
        for folder, form, table in parts:
            for start in range(0, table.num_rows, limits.SEGMENT_ROWS_MAX):
                path = f"{folder}/{number:012d}-{len(staged):04d}.parquet"
                rows = table.slice(start, limits.SEGMENT_ROWS_MAX)
                staged.append(stage_table(self.path, path, rows, form=form, since=number))
        return self._publish(stream, staged, batch=batch, **changed)

    def _publish(self, stream: str, staged: list[Staged], *, batch: Batch | None = None, **changed: Any) -> Head:
        publish(self.path, staged)
        head = self.heads[stream]
        batches = head.batches if batch is None else head.batches | {batch[0]: batch[1]}
        segments = [*head.segments, *(one.segment for one in staged)]
        return self._replace(stream, segments=segments, batches=batches, **changed)

    def _replace(self, stream: str, **changed: Any) -> Head:
        assert stream in self.streams, f"opened without {stream}"
        old = self.heads[stream]
        head = msgspec.structs.replace(old, number=old.number + 1, written_at=datetime.now(UTC), **changed)
        write_head(self.path, head)
        self.heads[stream] = head
        return head


def _locked(log: Path, streams: Sequence[str]) -> list[IO[bytes]]:
    locks: list[IO[bytes]] = []
    for stream in streams:
        locks.append(lock_path(log, stream).open("ab"))
        try:
            fcntl.flock(locks[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            for lock in locks:
                lock.close()
            hint = "one process writes a stream at a time"
            raise LogError(f"another process is writing {stream} of {log}", hint=hint) from None
    return locks


def _numbered(file: Staged, at: int, number: int) -> Staged:
    """A staged file under the name that the commit of this number gives it."""
    folder = file.segment.path.rpartition("/")[0]
    path = f"{folder}/{number:012d}-{at:04d}.parquet"
    return Staged(file.hidden, msgspec.structs.replace(file.segment, path=path, since=number))


def _completed(table: Any, type_: AgventType) -> Any:
    """The table with what most events have in common, where it was left out."""
    rows = table.num_rows
    common: dict[str, Callable[[], Any]] = {
        "quality": lambda: pa.repeat("durable", rows),
        "exact": lambda: pa.repeat(True, rows),
        "ancestors": lambda: ancestor_column(type_, rows),
    }
    for name, make in common.items():
        if name not in table.column_names:
            table = table.append_column(name, make())
    return table


def _stage_plain(log: Path, path: str, table: Any, since: int) -> Staged:
    return stage_file(
        log, path, lambda to: pq.write_table(table, to, compression="zstd"), rows=table.num_rows, since=since
    )
