"""The row store: every subscription's normal form as records, in the order of arrival."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from agvent.filters.normal import Opaque, Row, normal
from agvent.filters.primitives import Present
from agvent.filters.subscription import Subscription
from agvent.filters.tree import And, Attribute, Condition, Not, XPath
from agvent.filters.xpath_values import XML, rows_of
from agvent.matching.columns.arrays import Records, grown
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.rows.filter_shapes import Instance, Shapes, Test
from agvent.matching.rows.predicates import PREDICATE, ROW, Tests
from agvent.matching.rows.primitive_records import Recorder
from agvent.matching.rows.referents import Record, appended

NO_RESIDUAL = -1
HAS_XML = Present(Attribute((XML,)))
Prepared = Instance | Condition


class Residuals(Protocol):
    """The residuals of a saved index, to which more can be appended."""

    def __len__(self) -> int: ...
    def __getitem__(self, at: int) -> Condition: ...
    def append(self, condition: Condition) -> None: ...


class RowStore:
    """Appends rows; `flush` turns what was appended into arrays that kernels read."""

    def __init__(self, slots: Slots, strings: Strings) -> None:
        self.slots = slots
        self.strings = strings
        self.rows: Records = np.zeros(64, ROW)
        self.predicates: Records = np.zeros(256, PREDICATE)
        self.row_count = 0
        self.predicate_count = 0
        self.residuals: list[Condition] | Residuals = []
        self._residual_ids: dict[Condition, int] = {}
        self._recorder = Recorder(slots, strings)
        self._shapes = Shapes()
        self._waiting_rows: list[tuple[int, int, int, int, int]] = []
        self._waiting: list[Record] = []

    @property
    def tests(self) -> Tests:
        """What the flushed predicates refer to."""
        return self._recorder.referents.view

    @property
    def has_waiting(self) -> bool:
        """Are there rows that `flush` has not seen?"""
        return bool(self._waiting_rows)

    def prepare(self, subscription: Subscription) -> Prepared:
        """What `append` takes; every mistake in the subscription is found here, before anything changes."""
        if type(subscription) is Subscription and subscription.language == "sql" and not _is_addressed(subscription):
            instance = self._shapes.read(subscription.filter)
            if instance is not None:
                return instance
        return subscription.condition()

    def append(self, ordinal: int, prepared: Prepared) -> None:
        """Appends the rows of a subscription."""
        if isinstance(prepared, Instance):
            shared = 1 if len(prepared.template) > 1 else 0
            image = self._recorder.image
            images = [image(one) if isinstance(one, str) else one for one in prepared.literals]
            for tests in prepared.template:
                self._append_tests(ordinal, tests, images, shared)
            return
        rows = [expanded for row in normal(prepared) for expanded in _expanded(row)]
        deciding = sum(not any(isinstance(one, Opaque) for one in row) for row in rows)
        for row in rows:  # what the oracle confirms is told from what was decided when both are merged
            self._append_row(ordinal, row, prepared, 1 if deciding > 1 else 0)

    def _append_tests(self, ordinal: int, tests: tuple[Test, ...], images: list[float], shared: int) -> None:
        """A row by its template: nothing of it is left to the oracle."""
        start = self.predicate_count + len(self._waiting)
        record_of = self._recorder.record_of
        self._waiting += [record_of(test, images) for test in tests]
        end = self.predicate_count + len(self._waiting)
        self._waiting_rows.append((ordinal, NO_RESIDUAL, start, end, shared))

    def _append_row(self, ordinal: int, row: Row, condition: Condition, shared: int) -> None:
        start = self.predicate_count + len(self._waiting)
        self._recorder.inexact = False
        opaque: list[Condition] = []
        for primitive in row:
            if isinstance(primitive, Opaque):
                opaque.append(primitive.condition if primitive.want else Not(primitive.condition))
            else:
                self._waiting += self._recorder.records(primitive)
        residual = NO_RESIDUAL
        if self._recorder.inexact:
            residual = self._residual(condition)
        elif opaque:
            residual = self._residual(opaque[0] if len(opaque) == 1 else And(tuple(opaque)))
        end = self.predicate_count + len(self._waiting)
        self._waiting_rows.append((ordinal, residual, start, end, shared))

    def _residual(self, condition: Condition) -> int:
        known = self._residual_ids.get(condition)
        if known is None:
            known = self._residual_ids[condition] = len(self.residuals)
            self.residuals.append(condition)
        return known

    def restore(self, rows: Records, predicates: Records, tests: Tests, residuals: Residuals) -> None:
        """Takes over what a saved index had, to read."""
        self.rows, self.row_count = rows, len(rows)
        self.predicates, self.predicate_count = predicates, len(predicates)
        self.residuals = residuals
        self._recorder.referents.restore(tests)

    def thaw(self) -> None:
        """Copies what it only reads, so that it can be written and compiled code for written arrays serves."""
        self.rows, self.predicates = self.rows.copy(), self.predicates.copy()
        self._recorder.referents.thaw()

    def drop_from(self, row_count: int) -> None:
        """Takes back the rows appended since there were `row_count`, flushed or not; nobody has seen them."""
        self.flush()
        if row_count < self.row_count:
            self.predicate_count = int(self.rows["start"][row_count])
            self.row_count = row_count

    def holding(self, rows: Records, predicates: Records) -> RowStore:
        """A store of other rows that refer to the same slots, strings, tests and residuals."""
        made = copy.copy(self)
        made.rows, made.row_count = rows, len(rows)
        made.predicates, made.predicate_count = predicates, len(predicates)
        return made

    def take(self, other: RowStore, first: int) -> None:
        """Appends the rows of a store of the same tests, from `first` on."""
        rows = other.rows[first : other.row_count].copy()
        if not len(rows):
            return
        start = int(rows["start"][0])
        predicates = other.predicates[start : other.predicate_count]
        rows["start"] += self.predicate_count - start
        rows["end"] += self.predicate_count - start
        self.rows = appended(self.rows, self.row_count, rows)
        self.predicates = appended(self.predicates, self.predicate_count, predicates)
        self.row_count += len(rows)
        self.predicate_count += len(predicates)

    def flush(self) -> None:
        """Moves what is waiting into the arrays; readers of the arrays before are not disturbed."""
        self.strings.flush()
        self._recorder.referents.flush()
        if self._waiting:
            total = self.predicate_count + len(self._waiting)
            self.predicates = grown(self.predicates, total)
            _fill(self.predicates, self.predicate_count, self._waiting)
            self.predicate_count = total
            self._waiting = []
        if self._waiting_rows:
            total = self.row_count + len(self._waiting_rows)
            self.rows = grown(self.rows, total)
            _fill(self.rows, self.row_count, self._waiting_rows)
            self.row_count = total
            self._waiting_rows = []


def _expanded(row: Row) -> list[Row]:
    """A row with an XPath as rows on the document's values. Only the index knows such terms."""
    for at, one in enumerate(row):
        if isinstance(one, Opaque) and one.want and isinstance(one.condition, XPath):
            rest = tuple(other for place, other in enumerate(row) if place != at and other != HAS_XML)
            return [(*rest, *below) for below in rows_of(one.condition)]
    return [row]


def _is_addressed(subscription: Subscription) -> bool:
    one = subscription
    return one.type is not None or one.topic is not None or one.pattern is not None or one.channel is not None


def _fill(target: Records, first: int, waiting: Sequence[tuple[Any, ...]]) -> None:
    """Writes records; a few are quicker one by one than as an array of their own."""
    if len(waiting) < 8:
        for n, record in enumerate(waiting, first):
            target[n] = record
    else:
        target[first : first + len(waiting)] = np.array(waiting, target.dtype)
