"""Subscriptions: the index as its users see it.

Any number of threads may match while one changes it; a match sees every change whole or not at all. Changes wait for
each other. A compaction happens inside `add` when the tail has grown long, and readers go on meanwhile; `compact` is
the same on request, and other changes go on meanwhile too.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from agvent import limits
from agvent.errors import SubscriptionError
from agvent.event import Event, event_of
from agvent.filters.evaluate import Behaviours
from agvent.filters.explain import Explanation, explain
from agvent.filters.subscription import Subscription
from agvent.matching.columns.arrays import U64
from agvent.matching.columns.column_batch import ColumnBatch
from agvent.matching.encoders.events import encode_events
from agvent.matching.encoders.json_lines import encode_json
from agvent.matching.index.freeze import Arrays, Description, freeze, thaw, unfreeze
from agvent.matching.index.search import search, search_one
from agvent.matching.index.state import Compaction, IndexState
from agvent.matching.index.statistics import Statistics, statistics
from agvent.matching.matches import Matches
from agvent.matching.rows.names_read import names_read
from agvent.matching.rows.row_store import Prepared

if TYPE_CHECKING:
    import pyarrow

TAIL_MIN = 8_192
"""Rows in the tail and ended subscriptions before the index is compacted, however small the snapshot."""

UNKEYED_MIN = 256
"""Rows in the tail that every event is tested against, before the index is compacted for them alone."""

BULK_MIN = 64
"""Subscriptions of one `add_many` from which the index is built anew instead of filing them in the tail."""

CHUNK = 65_536

BATCH_ROWS_MAX = 16_384
BATCH_BYTES = 64 << 20

RETIRED_MIN = 8_192
"""Ended subscriptions, if they are four times those in force, after which the index is made anew from the texts: only
then are strings, patterns and slots forgotten that nobody names any more."""


class Subscriptions:
    """A set of subscriptions that events are matched against.

    >>> subscriptions = Subscriptions()
    >>> subscriptions.add("cheap", "price < 10 AND NOT sold_out")
    >>> subscriptions.add("nba", "score > 100", topic="Sports/NBA")
    >>> subscriptions.match({"price": 7.5, "sold_out": False})
    ['cheap']
    """

    def __init__(self, subscriptions: Iterable[Subscription] = ()) -> None:
        self._state = IndexState.empty()
        self._saved_count: int | None = None
        self._by_id: dict[str, int] = {}
        self._retired = 0
        self._lock = threading.RLock()
        self._compacting = threading.Lock()
        self.add_many(subscriptions)

    @classmethod
    def unfrozen(cls, description: Description, arrays: Arrays) -> Subscriptions:
        """The index of `frozen`, on the same arrays; they are only read."""
        made = cls()
        made._state, made._saved_count = unfreeze(description, arrays), description.count
        return made

    def frozen(self) -> tuple[Description, Arrays]:
        """The index as plain arrays and what they do not say, for `store` to write down."""
        with self._compacting, self._lock:
            _ = self._ordinals
            if self._state.tail_rows or self._state.ended:
                compaction = Compaction(self._state)
                compaction.build()
                self._state = compaction.successor()
            return freeze(self._state, len(self))

    @property
    def _ordinals(self) -> dict[str, int]:
        """The ordinal of each id. A mapped index is copied into memory the first time this is asked for."""
        if self._saved_count is not None:
            with self._lock:
                if self._saved_count is not None:
                    thaw(self._state)
                    live = self._state.until > self._state.mark.version
                    known = self._state.known
                    self._by_id = {known[at].id: at for at in np.flatnonzero(live).tolist()}
                    self._saved_count = None
        return self._by_id

    def __len__(self) -> int:
        return len(self._by_id) if self._saved_count is None else self._saved_count

    def __contains__(self, id: object) -> bool:
        return id in self._ordinals

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._ordinals))

    def __deepcopy__(self, memo: dict[int, Any]) -> Subscriptions:
        """The same index, which changes on its own from here on: a copy finds the same matches in the same order."""
        with self._compacting, self._lock:
            other = memo[id(self)] = Subscriptions()
            own = {name: value for name, value in vars(self).items() if name not in ("_lock", "_compacting")}
            vars(other).update(copy.deepcopy(own, memo))
        return other

    @property
    def batch_rows(self) -> int:
        """Events a batch should have at most: its columns, one for each thing some filter asks for, then stay within
        64 MB. There is no bound on correctness; a larger batch only takes more memory."""
        slots = self._state.store.slots
        row_bytes = 8 * (slots.value_count + 2 * slots.text_count + 2 * slots.list_count + 1)
        return max(64, min(BATCH_ROWS_MAX, BATCH_BYTES // row_bytes))

    def ids(self) -> list[str]:
        """The id of each ordinal; an ordinal that nobody has is empty."""
        state = self._state
        live = (state.until[: len(state.known)] > state.mark.version).tolist()
        return [state.known[at].id if is_live else "" for at, is_live in enumerate(live)]

    def names(self) -> set[str]:
        """The attributes and headers that some filter reads, by their first names: the columns it needs of a batch."""
        return names_read(self._state.store)

    def get(self, id: str) -> Subscription:
        """The subscription with this id."""
        return self._state.known[self._ordinal(id)]

    def _ordinal(self, id: str) -> int:
        try:
            return self._ordinals[id]
        except KeyError:
            raise SubscriptionError(f"there is no subscription {id!r}") from None

    def add(self, subscription: Subscription | str, filter: str = "", *, destination: int = 0, **keys: Any) -> None:
        """Adds a subscription, given whole or as its id, its filter and what else Subscription takes."""
        given = _given(subscription, filter, keys, destination)
        prepared = self._state.store.prepare(given)
        with self._lock:
            if given.id in self._ordinals:
                raise SubscriptionError(f"there is a subscription {given.id!r} already", hint="use replace")
            self._append(given, prepared, destination)
            self._publish()

    def replace(self, subscription: Subscription | str, filter: str = "", *, destination: int = 0, **keys: Any) -> None:
        """Gives a subscription another filter; a match sees the old one or the new one, never both or neither."""
        given = _given(subscription, filter, keys, destination)
        prepared = self._state.store.prepare(given)
        with self._lock:
            self._end(given.id)
            self._append(given, prepared, destination)
            self._publish()

    def remove(self, id: str) -> None:
        """Ends a subscription."""
        with self._lock:
            self._end(id)
            del self._ordinals[id]
            self._publish()

    def _end(self, id: str) -> None:
        self._state.end(self._ordinal(id))
        self._retired += 1

    def _append(self, subscription: Subscription, prepared: Prepared, destination: int) -> None:
        ordinal = self._state.own(subscription, destination)
        self._state.store.append(ordinal, prepared)
        self._ordinals[subscription.id] = ordinal

    def add_many(self, subscriptions: Iterable[Subscription], *, destination: int = 0) -> int:
        """Adds subscriptions all at once and says how many; if one of them is refused, none is added."""
        _check_destination(destination)
        with self._lock:
            before = len(self._ordinals)
            row_count = self._state.store.row_count
            added: list[int] = []
            remaining = iter(subscriptions)
            try:
                while chunk := list(islice(remaining, CHUNK)):
                    for subscription in chunk:
                        if subscription.id in self._ordinals:
                            raise SubscriptionError(f"there is a subscription {subscription.id!r} already")
                        self._append(subscription, self._state.store.prepare(subscription), destination)
                        added.append(self._ordinals[subscription.id])
                    self._state.store.flush()
            except BaseException:
                for ordinal in added:
                    del self._ordinals[self._state.known[ordinal].id]
                self._state.store.drop_from(row_count)
                self._state.disown(added)
                raise
            if len(added) < BULK_MIN or not self._compacted():
                self._publish()
            return len(self._ordinals) - before

    def _publish(self) -> None:
        self._state.publish()
        state = self._state
        changes = state.tail_rows + state.ended
        unkeyed_max = max(UNKEYED_MIN, state.snapshot_rows // 16)
        if self._retired > max(RETIRED_MIN, 4 * len(self)):
            self._compacted(renew=True)
        elif changes > max(TAIL_MIN, state.snapshot_rows // 2) or state.tail.unkeyed_count > unkeyed_max:
            self._compacted()

    def _compacted(self, *, renew: bool = False) -> bool:
        """Compacts inside a change, unless another thread is at it: `compact` takes the locks in the other order."""
        if not self._compacting.acquire(blocking=False):
            return False
        try:
            state, by_id = self._renewed() if renew else (self._state, self._by_id)
            compaction = Compaction(state)
            compaction.build()
            self._state, self._by_id = compaction.successor(), by_id
        finally:
            self._compacting.release()
        return True

    def _renewed(self) -> tuple[IndexState, dict[str, int]]:
        """The subscriptions in force in a state that knows nothing of earlier ones."""
        old, new = self._state, IndexState.empty()
        by_id: dict[str, int] = {}
        for id, ordinal in self._by_id.items():
            subscription = old.known[ordinal]
            by_id[id] = new.own(subscription, int(old.destination[ordinal]))
            new.store.append(by_id[id], new.store.prepare(subscription))
        self._retired = 0
        return new, by_id

    def compact(self) -> None:
        """Builds the index anew from the subscriptions in force. Never needed for a right answer, only for speed."""
        with self._compacting:
            with self._lock:
                _ = self._ordinals
                compaction = Compaction(self._state)
            compaction.build()
            with self._lock:
                self._state = compaction.successor()

    def match(self, event: Event | Mapping[str, Any], behaviours: Behaviours | None = None) -> list[str]:
        """The ids of the subscriptions that the event matches, in code-point order."""
        state = self._state
        mark = state.mark
        batch = encode_events((event,), state.store.slots, state.strings)
        known = state.known
        return sorted([known[ordinal].id for ordinal in search_one(state, mark, batch, behaviours)])

    def match_batch(
        self,
        events: pyarrow.RecordBatch | pyarrow.Table | Sequence[Event | Mapping[str, Any]],
        behaviours: Behaviours | None = None,
    ) -> Matches:
        """The matches of an Arrow record batch or table, whose columns are attributes, or of a list of events."""
        return self._matches(lambda state: _encoded(events, state), behaviours)

    def match_json(self, lines: bytes, behaviours: Behaviours | None = None) -> Matches:
        """The matches of JSON Lines, an event a line. A line that is no event is in `rejected` and matches nothing."""
        return self._matches(lambda state: encode_json(lines, state.store.slots, state.strings), behaviours)

    def _matches(self, encode: Any, behaviours: Behaviours | None) -> Matches:
        state = self._state
        mark = state.mark
        batch = encode(state)
        found = search(state, mark, batch, behaviours)
        return Matches(found.subscriptions, found.ends, state.known, batch.rejected, batch.unanswered)

    def destinations(
        self,
        events: pyarrow.RecordBatch | pyarrow.Table | Sequence[Event | Mapping[str, Any]] | bytes,
        behaviours: Behaviours | None = None,
    ) -> U64:
        """For each event the destinations of its subscriptions as bits: destination d is bit d % 64 of word d // 64.

        A subscription whose destination the event already has is not tested (Narada §7).
        """
        state = self._state
        mark = state.mark
        batch = _encoded(events, state)
        bits = np.zeros((len(batch), state.destination_max // 64 + 1), np.uint64)
        search(state, mark, batch, behaviours, bits)
        return bits

    def explain(self, event: Event | Mapping[str, Any], id: str, behaviours: Behaviours | None = None) -> Explanation:
        """Why the event does or does not match the subscription."""
        return explain(self.get(id).condition(), event_of(event), behaviours)

    def statistics(self) -> Statistics:
        """How many subscriptions there are, how they are found, and what they cost."""
        return statistics(self._state, len(self))


def _encoded(events: Any, state: IndexState) -> ColumnBatch:
    if isinstance(events, (bytes, bytearray, memoryview)):
        return encode_json(events, state.store.slots, state.strings)
    if hasattr(events, "schema"):
        from agvent.matching.encoders.arrow import encode_arrow, whole  # noqa: PLC0415 - pyarrow is for those who use it

        return encode_arrow(whole(events), state.store.slots, state.strings)
    return encode_events(events, state.store.slots, state.strings)


def _given(subscription: Subscription | str, filter: str, keys: dict[str, Any], destination: int) -> Subscription:
    _check_destination(destination)
    if isinstance(subscription, str):
        return Subscription(id=subscription, filter=filter, **keys)
    if not isinstance(subscription, Subscription):
        raise SubscriptionError(f"a subscription is a Subscription or its id, not {type(subscription).__name__}")
    if filter or keys:
        raise SubscriptionError("a whole subscription is given, and parts of one beside it")
    return subscription


def _check_destination(destination: int) -> None:
    if type(destination) is not int:
        raise SubscriptionError(f"a destination is an integer, not {type(destination).__name__}")
    if not 0 <= destination < limits.DESTINATIONS_MAX:
        raise SubscriptionError(f"destination {destination} is not in 0..{limits.DESTINATIONS_MAX - 1}")
