"""An event log in memory, for worlds: what `LogWriter` does with commits and batches, and a judge of its rows.

Its writer may end in the middle of a batch, before or after any commit.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from agvent.chronicle.log_rows import Row
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_schema import TABLES
from agvent.store.log_writer import Batch

CATALOGUE: Final = ("subscriptions", "changes", "epochs", "programs")
COLUMNS: Final[dict[str, tuple[Row, list[str]]]] = {
    name: (dict.fromkeys(form.schema.names), [field.name for field in form.schema if not field.nullable])
    for name, form in TABLES.items()
}
"""Of each table all columns, without values, and those that have one in each row."""


class WriterEnded(Exception):
    """The process that writes the log is gone."""


class MemoryLog:
    """Rows by table, each with the number of the commit that brought it."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[int, Row]]] = {}
        self.events: list[tuple[int, LoggedEvent]] = []
        self.types: list[tuple[int, str, Any]] = []  # commit, `advertise` or `unadvertise`, the advertisement
        self.commits = 0
        self.commits_left = -1  # until the writer ends; negative: it does not
        self.faults: list[str] = []  # rows that a log would not take
        self._batches: dict[tuple[str, str], int] = {}
        self._last: dict[tuple[str, str], int] = {}

    def of(self, table: str) -> list[Row]:
        """The rows of a table."""
        return [row for _, row in self.rows.get(table, ())]

    def append_catalogue(
        self,
        *,
        advertisements: Iterable[Any] = (),
        withdrawn: Iterable[Any] = (),
        batch: Batch | None = None,
        **tables: Sequence[Row],
    ) -> None:
        if self._begins("catalogue", batch):
            self.types += [(self.commits, "advertise", one) for one in advertisements]
            self.types += [(self.commits, "unadvertise", one) for one in withdrawn]
            for name in CATALOGUE:
                self._take(name, tables.get(name, ()))
            self._continues("changes", tables.get("changes", ()), "home_broker", "position", step=1)
            self._continues("epochs", tables.get("epochs", ()), "entry_broker", "epoch", step=0)

    def append_events(self, records: Iterable[LoggedEvent], *, batch: Batch | None = None) -> None:
        if self._begins("events", batch):
            self.events += [(self.commits, one) for one in records]

    def append_tables(self, stream: str, tables: Any, *, batch: Batch | None = None) -> None:
        if self._begins(stream, batch):
            for name, rows in tables.items():
                self._take(name, rows)

    def _begins(self, stream: str, batch: Batch | None) -> bool:
        """Does the stream take this batch?"""
        if not self.commits_left:
            raise WriterEnded(stream)
        self.commits_left -= 1
        if batch is not None:
            if self._batches.get((stream, batch[0]), -1) >= batch[1]:
                return False
            self._batches[stream, batch[0]] = batch[1]
        self.commits += 1
        return True

    def _take(self, table: str, rows: Sequence[Row]) -> None:
        empty, needed = COLUMNS[table]
        for row in rows:
            if row.keys() - empty.keys() or any(row.get(name) is None for name in needed):
                self.faults.append(f"{table} cannot have {row}")
        self.rows.setdefault(table, []).extend((self.commits, {**empty, **row}) for row in rows)

    def _continues(self, table: str, rows: Sequence[Row], broker: str, column: str, *, step: int) -> None:
        """Numbers of a broker rise from row to row, by so much at least."""
        for row in rows:
            key = (table, row[broker])
            if row[column] < self._last.get(key, 0) + step:
                self.faults.append(f"{table} goes back to {column} {row[column]} of {row[broker]}")
            self._last[key] = row[column]
