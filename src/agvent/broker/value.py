"""A broker between two steps as plain data: to look at, and to compare two of them.

`dumped(broker)` is built of dicts, lists and plain values. Two brokers with the same dump go on alike: the same inputs
give the same effects. `copy.deepcopy(broker)` makes a second one in the middle of a run.

What cannot be told from outside has no place in a broker. So a function that holds values of its own, a closure or a
`partial`, is refused here. Indexes are shown by their subscriptions, because how an index files them changes no answer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import msgspec
import numpy as np

from agvent.broker.broker import Broker
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions

PLAIN: Final = (type(None), bool, int, float, str, bytes)


def dumped(broker: Broker) -> dict[str, Any]:
    """All that a broker has, by the names of its parts. A part that several others hold is shown where it is met first,
    and after that by its place."""
    found = _Dump().value(broker, "broker")
    assert isinstance(found, dict)
    return found


class _Dump:
    """Places of what was shown already, by identity; `_kept` keeps those objects, and so their identities, alive."""

    def __init__(self) -> None:
        self._places: dict[int, str] = {}
        self._kept: list[object] = []

    def value(self, given: Any, place: str) -> Any:
        if isinstance(given, PLAIN):
            return given
        if isinstance(given, type):
            return given.__qualname__
        if isinstance(given, Enum):
            return given.name
        if isinstance(given, MethodType):
            return f"{type(given.__self__).__qualname__}.{given.__func__.__name__}"
        assert not isinstance(given, partial), f"{place} is a closure: {given!r}"
        if isinstance(given, (FunctionType, BuiltinFunctionType)):
            assert not getattr(given, "__closure__", None), f"{place} is a closure: {given.__qualname__}"
            return given.__qualname__
        if isinstance(given, (tuple, list, deque)):
            return [self.value(one, f"{place}[{at}]") for at, one in enumerate(given)]
        if isinstance(given, (set, frozenset)):
            return sorted((self.value(one, place) for one in given), key=repr)
        if isinstance(given, (Subscription, Event)):
            return repr(given)
        if _is_frozen(type(given)):
            return self._attributes(given, place)
        return self._shared(given, place)

    def _shared(self, given: Any, place: str) -> Any:
        """Something that can change: shown once."""
        if id(given) in self._places:
            return f"→ {self._places[id(given)]}"
        self._places[id(given)] = place
        self._kept.append(given)
        if isinstance(given, Subscriptions):
            return [self.value(given.get(one), place) for one in given]
        if isinstance(given, np.ndarray):
            return given.tolist()
        if type(given) is dict:
            return self._items(given, place)
        shown = self._items(given, place) if isinstance(given, dict) else {}
        return {**shown, **self._attributes(given, place)}

    def _items(self, given: dict[Any, Any], place: str) -> dict[str, Any]:
        """Keys by how they print; in order, which counts."""
        keys = [one if isinstance(one, str) else _name(one) for one in given]
        values = zip(keys, given.values(), strict=True)
        return {key: self.value(one, f"{place}[{key}]") for key, one in values}

    def _attributes(self, given: Any, place: str) -> dict[str, Any]:
        if isinstance(given, msgspec.Struct):
            names = given.__struct_fields__
            return {name: self.value(getattr(given, name), f"{place}.{name}") for name in names}
        assert _is_open(given), (
            f"{place} cannot be shown: not all that a {type(given).__qualname__} has is in its __dict__"
        )
        return {name: self.value(one, f"{place}.{name}") for name, one in vars(given).items()}


def _is_frozen(kind: type) -> bool:
    """Is it a struct or dataclass that cannot change? Whether two parts hold the same one then makes no difference."""
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_config__.frozen
    return is_dataclass(kind) and bool(getattr(kind, "__dataclass_params__").frozen)  # noqa: B009 - not in typeshed


def _is_open(given: object) -> bool:
    """Is everything that an object has in its `__dict__`, nothing in slots or in a type that is not Python?"""
    return hasattr(given, "__dict__") and not any(one.__dict__.get("__slots__") for one in type(given).__mro__)


def _name(key: object) -> str:
    return key.__qualname__ if isinstance(key, type) else repr(key)
