"""An index as plain arrays and a description of them, so that `store/` can write it down and map it into memory again.

A mapped index answers at once: the arrays are used where they lie, and a subscription is decoded when its name is asked
for. The first change copies what changes into memory. What the oracle must confirm is, in a saved index, the whole
condition of the row's own subscription: the same answer, and no tree has to be written down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, overload

import msgspec
import numpy as np

from agvent import limits
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition
from agvent.matching.columns.arrays import I64, U8
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings, StringView
from agvent.matching.index.snapshot import Snapshot
from agvent.matching.index.state import FOREVER, IndexState
from agvent.matching.rows.row_store import RowStore

Arrays = dict[str, Any]


def _plain(value: Any) -> Any:
    """A context may be any mapping; what comes back is a dict."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be saved")


ENCODER = msgspec.msgpack.Encoder(enc_hook=_plain)


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What the arrays do not say."""

    count: int
    """Subscriptions in force."""

    strings: int
    slots: dict[str, Any]


class SavedSubscriptions(Sequence[Subscription]):
    """Subscriptions one after the other as MessagePack, which keeps the kinds of a context's values; an ordinal that
    nobody has is empty."""

    def __init__(self, text: U8, ends: I64) -> None:
        self._text = text
        self._ends = ends
        self._decoder = msgspec.msgpack.Decoder(Subscription)

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> Subscription: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Subscription]: ...
    def __getitem__(self, at: int | slice) -> Subscription | Sequence[Subscription]:
        if isinstance(at, slice):
            return [self[n] for n in range(*at.indices(len(self)))]
        start = int(self._ends[at - 1]) if at else 0
        return self._decoder.decode(self._text[start : int(self._ends[at])].tobytes())

    def thawed(self, live: list[bool]) -> list[Subscription]:
        """All of them in memory; a place without a subscription holds one that nobody can reach."""
        nobody = Subscription(id="nobody")
        return [self[at] if live[at] else nobody for at in range(len(self))]


class SavedResiduals:
    """The residuals of a saved index: residual n is the condition of subscription n; new ones come after. A filter is
    read again when it is first asked for, and some are kept: many events ask for the same ones."""

    def __init__(self, known: SavedSubscriptions) -> None:
        self._known = known
        self._more: list[Condition] = []
        self._condition = lru_cache(limits.CONDITIONS_KEPT_MAX)(lambda at: known[at].condition())

    def __len__(self) -> int:
        return len(self._known) + len(self._more)

    def __getitem__(self, at: int) -> Condition:
        return self._condition(at) if at < len(self._known) else self._more[at - len(self._known)]

    def append(self, condition: Condition) -> None:
        self._more.append(condition)


def freeze(state: IndexState, count: int) -> tuple[Description, Arrays]:
    """The parts of a state without a tail."""
    assert state.tail_rows == 0
    store, owned = state.store, len(state.known)
    rows = store.rows[: store.row_count].copy()
    rows["residual"] = np.where(rows["residual"] >= 0, rows["subscription"], -1)
    entries = state.snapshot.entries.copy()
    with_residual = entries["residual"][:-1] >= 0
    entries["residual"][:-1][with_residual] = state.snapshot.owners[with_residual]
    texts = [
        ENCODER.encode(one) if until > state.mark.version else b""
        for one, until in zip(state.known, state.until[:owned].tolist(), strict=True)
    ]
    string_count = len(state.strings)
    table, strings, blob = state.strings.view
    last = strings[string_count - 1] if string_count else None
    blob_size = int(last["start"] + last["size"]) if last is not None else 0
    arrays: Arrays = {f"snapshot.{name}": array for name, array in state.snapshot._asdict().items()}
    arrays |= {
        "snapshot.entries": entries,
        "strings.table": table,
        "strings.entries": strings[:string_count],
        "strings.blob": blob[:blob_size],
        "rows": rows,
        "predicates": store.predicates[: store.predicate_count],
        "until": np.where(state.until[:owned] > state.mark.version, FOREVER, 0),
        "destination": state.destination[:owned],
        "subscriptions.text": np.frombuffer(b"".join(texts), np.uint8),
        "subscriptions.ends": np.cumsum(np.fromiter(map(len, texts), np.int64, owned)),
    }
    return Description(count=count, strings=string_count, slots=store.slots.described()), arrays


def unfreeze(description: Description, arrays: Arrays) -> IndexState:
    """A state on arrays that it only reads."""
    snapshot = Snapshot(**{name: arrays[f"snapshot.{name}"] for name in Snapshot._fields})
    view = StringView(arrays["strings.table"], arrays["strings.entries"], arrays["strings.blob"])
    known = SavedSubscriptions(arrays["subscriptions.text"], arrays["subscriptions.ends"])
    store = RowStore(Slots.of(description.slots), Strings.of(view, description.strings))
    store.restore(arrays["rows"], arrays["predicates"], snapshot.tests, SavedResiduals(known))
    state = IndexState(store, snapshot)
    state.until, state.destination, state.known = arrays["until"], arrays["destination"], known
    state.destination_max = int(state.destination.max(initial=0))
    return state


def thaw(state: IndexState) -> None:
    """Copies what a writer changes; readers of the state are not disturbed."""
    assert isinstance(state.known, SavedSubscriptions)
    live = (state.until > state.mark.version).tolist()
    known = state.known.thawed(live)
    state.until, state.destination = state.until.copy(), state.destination.copy()
    state.free = [ordinal for ordinal, is_live in enumerate(live) if not is_live]
    state.store.thaw()
    state.known = known
