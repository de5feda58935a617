"""What an event's behaviours answered, as a function that filters may call.

Matching never waits: the first one asks, and notes what it asked; a sandbox gives the answers; the next one finds them.
In a broker they travel with the event, so that its homes, and whoever audits it later, judge by the same answers
without running anything.
"""

from __future__ import annotations

from typing import Any

from agvent.event import Cargo, Event, Kind, Value, checked, kind_of
from agvent.filters import tree
from agvent.filters.evaluate import called, compared, evaluate
from agvent.filters.memo import memoised
from agvent.filters.tree import Condition, walk
from agvent.wire.codec import encode_value
from agvent.wire.parts import Answered, BehaviourCall


class Answers:
    """Answers to calls on an agvent; a call without one is unknown, and is noted in `missing`.

    `opaque` are the attributes whose values do not leave a sandbox: None if there are none.
    """

    def __init__(self, known: tuple[Answered, ...] = (), cargo: Cargo | None = None) -> None:
        self.known = known
        self.opaque = cargo.opaque if cargo is not None and cargo.opaque else None
        self.missing: dict[bytes, BehaviourCall] = {}
        self._values = {_key(one.call.name, one.call.args): one.value for one in known}

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        key = _key(name, args)
        if key not in self._values:
            self.missing[key] = BehaviourCall(name, args)
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

    def judged(self, condition: Condition, event: Event) -> bool | None:
        """What the oracle says of a condition that is ready; most compare one answer with a number, and are read from
        the answers at once."""
        key, op, right, unlike = _comparison(condition, self.opaque)
        if key is None:
            return evaluate(condition, event, self)
        answer = checked(self._values[key])
        return compared(op, None if kind_of(answer) is Kind.NULL else answer, right, unlike)


@memoised
def _written(condition: Condition, opaque: tuple[str, ...] | None) -> tuple[tuple[bytes, BehaviourCall], ...]:
    """The calls of a condition whose arguments are literals. Those that stand beside an opaque attribute are decided
    inside a sandbox, and are not among them."""
    if opaque is not None and not called(condition).isdisjoint(opaque):
        return ()
    found = [part for part in walk(condition) if isinstance(part, tree.Call)]
    literal = [part for part in found if all(isinstance(arg, tree.Literal) for arg in part.args)]
    calls = [BehaviourCall(part.name, tuple(arg.value for arg in part.args)) for part in literal]  # type: ignore[union-attr]
    return tuple((_key(call.name, call.args), call) for call in calls)


@memoised
def _comparison(condition: Condition, opaque: tuple[str, ...] | None) -> tuple[bytes | None, str, Any, bool | None]:
    """Of a condition that compares a call, its arguments all written in it, with a literal: the call's key, and how it
    is compared with what. Of any other one no key."""
    match condition:
        case tree.Compare(op, tree.Call(_, args), tree.Literal(right), unlike):
            is_written = all(isinstance(arg, tree.Literal) for arg in args) and kind_of(right) is not Kind.NULL
            if is_written and (calls := _written(condition, opaque)):
                return calls[0][0], op, right, unlike
    return None, "", None, None


def _key(name: str, args: tuple[Any, ...]) -> bytes:
    """Bytes, because 1, 1.0 and TRUE are three arguments, though Python calls them equal."""
    return encode_value((name, args))
