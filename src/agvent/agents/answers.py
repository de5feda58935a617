"""What an event's behaviours answered, as a function that filters may call.

Matching never waits: the first one asks, and notes what it asked; a sandbox gives the answers; the next one finds them.
In a broker they travel with the event, so that its homes, and whoever audits it later, judge by the same answers
without running anything.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from agvent import limits
from agvent.event import Cargo, Value
from agvent.filters import tree
from agvent.filters.evaluate import called
from agvent.filters.tree import Condition, walk
from agvent.wire.codec import encode_value
from agvent.wire.parts import Answered, Call


class Answers:
    """Answers to calls on an agvent; a call without one is unknown, and is noted in `missing`.

    `opaque` are the attributes whose values do not leave a sandbox: None if there are none.
    """

    def __init__(self, known: tuple[Answered, ...] = (), cargo: Cargo | None = None) -> None:
        self.known = known
        self.opaque = cargo.opaque if cargo is not None and cargo.opaque else None
        self.missing: dict[bytes, Call] = {}
        self._values = {_key(one.call.name, one.call.args): one.value for one in known}

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        key = _key(name, args)
        if key not in self._values:
            self.missing[key] = Call(name, args)
            return None
        return self._values[key]  # type: ignore[no-any-return]


class Questions(Answers):
    """Answers while they are collected: as long as some are missing nobody goes by what matched."""

    def is_ready(self, condition: Condition) -> bool:
        """Has every call of a condition its answer, as far as its arguments are written in it? Notes those that have
        none, all at once: whoever matches need not evaluate what will be asked again."""
        lacking = [(key, call) for key, call in _written(condition, self.opaque) if key not in self._values]
        self.missing.update(lacking)
        return not lacking


@lru_cache(limits.CONDITIONS_KEPT_MAX)
def _written(condition: Condition, opaque: tuple[str, ...] | None) -> tuple[tuple[bytes, Call], ...]:
    """The calls of a condition whose arguments are literals. Those that stand beside an opaque attribute are decided
    inside a sandbox, and are not among them."""
    if opaque is not None and not called(condition).isdisjoint(opaque):
        return ()
    found = [part for part in walk(condition) if isinstance(part, tree.Call)]
    literal = [part for part in found if all(isinstance(arg, tree.Literal) for arg in part.args)]
    calls = [Call(part.name, tuple(arg.value for arg in part.args)) for part in literal]  # type: ignore[union-attr]
    return tuple((_key(call.name, call.args), call) for call in calls)


def _key(name: str, args: tuple[Any, ...]) -> bytes:
    """Bytes, because 1, 1.0 and TRUE are three arguments, though Python calls them equal."""
    return encode_value((name, args))
