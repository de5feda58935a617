"""The durable part of a broker's tables as plain data: everything that they hold but for what `LOST` names.

A new attribute of a table counts from the day it is written. A snapshot that leaves it out is seen, and one that a
restart may lose has to be named here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import msgspec

from agvent.broker.records import Record
from agvent.broker.tables import interests, local_subscriptions
from agvent.broker.tables.custody import Copy, Standing
from agvent.broker.tables.tables import Tables
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions

LOST: Final[dict[str, frozenset[str]]] = {
    # what a neighbour or client was sent, and when: it is sent again
    "Copy": frozenset({"neighbour", "due", "wait_us", "attempt", "came", "again"}),
    "HeldEvent": frozenset({"trace", "before", "ready", "since"}),
    "Errand": frozenset({"neighbour", "due", "wait_us", "attempt"}),
    "Queue": frozenset({"sent", "sent_waiting", "sent_bytes", "sent_of"}),
    "HomeClient": frozenset({"fast", "link"}),
    "Deliveries": frozenset({"gone_guests"}),
    # fast events
    "Tables": frozenset({"_apply", "fast_lost"}),
    "Chains": frozenset({"_boots"}),
    # sums and indexes over what counts, fast events too: `check` computes them again
    "Custody": frozenset(
        {
            "began", "event_count", "event_bytes", "untaken", "_of_home", "_events_of_home", "_bytes_of_home",
            "_waiting",
        }
    ),
    # what is found again from the rest, or begins again
    "Code": frozenset({"count"}),
    "Life": frozenset({"trim_at"}),
    "Version": frozenset({"condition"}),
    "LocalSubscriptions": frozenset({"_foreseen", "_foreseen_at"}),
    "Interests": frozenset({"_answered", "_changes", "_foreseen", "_foreseen_at", "_partial", "refused"}),
}  # fmt: skip
"""For each class of broker/tables what a restart may lose."""

ROOM: Final = "agvent.broker.tables."


class Filed(dict[str, Subscription]):
    """Subscriptions that nothing is matched against: an index costs more than all other tables together."""

    def add(self, subscription: Subscription, *, destination: int = 0) -> None:
        self[subscription.id] = subscription

    def remove(self, id: str) -> None:
        del self[id]


def tables_of(name: str, incarnation: int, records: Iterable[Record]) -> Tables:
    """The tables that records give. Nothing can be matched against them."""
    with _without_an_index():
        tables = Tables(name, incarnation)
    for record in records:
        tables.apply(record)
    return tables


@contextmanager
def _without_an_index() -> Iterator[None]:
    vars(interests).update(Subscriptions=Filed)
    vars(local_subscriptions).update(Subscriptions=Filed)
    try:
        yield
    finally:
        vars(interests).update(Subscriptions=Subscriptions)
        vars(local_subscriptions).update(Subscriptions=Subscriptions)


def durable(tables: Tables) -> dict[str, Any]:
    """What must be the same after a restart. It shares what it holds with the tables."""
    plain: dict[str, Any] = _plain(tables)
    return plain


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        found = {key: _plain(one) for key, one in value.items() if type(key) is str or not _is_fast(key)}
        return {key: one for key, one in found.items() if one != {}} if {} in found.values() else found
    if kind is list:
        return [_plain(one) for one in value]
    if kind is Subscriptions or kind is Filed:
        return {id: value.get(id) for id in value}
    if _is_of_tables(kind.__module__) and not issubclass(kind, tuple):
        names = _struct_fields(kind) if issubclass(kind, msgspec.Struct) else _fields(value)
        plain = {name: _plain(getattr(value, name)) for name in names}
        if kind is Copy:
            plain["standing"] = value.standing is Standing.DELEGATED
        return plain
    return value


@cache
def _is_of_tables(module: str) -> bool:
    """May fields of what it defines be lost?"""
    return module.startswith(ROOM)


@cache
def _struct_fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in LOST.get(kind.__name__, ()))


def _fields(value: object) -> Iterator[str]:
    return (name for name in vars(value) if name not in LOST.get(type(value).__name__, ()))


def _is_fast(key: Any) -> bool:
    """Is this what a fast event, chain or series is filed under?"""
    return bool(getattr(key, "boot", 0) or getattr(key, "fast", False))


def difference(one: Any, other: Any) -> str:
    """Where two of these first differ, and how; nothing if they are equal."""
    if one == other:
        return ""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other:
                there, which = (one, "not") if key in one else (other, "only")
                return f" {_named(key)}: {which} there, {str(there[key])[:200]}"
            if found := difference(one[key], other[key]):
                return f" {_named(key)}{found}"
    return f": {str(other)[:300]}, not {str(one)[:300]}"


def _named(key: Any) -> str:
    return key if isinstance(key, str) else repr(key)
