"""What the filter's evaluator says of the events of worlds, each question put to it once.

A world has few attributes with few values, so the judges ask the same again and again, in one run and in the next. A
subscription is taken apart into clauses, its type, its address and its filter: an event matches if each is true of it,
as Kleene's AND has it. There are few clauses, and few events.

An outcome depends on nothing but the clause, the event and the event's answers, none of which ever changes. So it never
grows old; what is bounded is how many are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

import msgspec

from agvent.agents.execution.answers import Answers
from agvent.event import Event, Value
from agvent.filters.evaluate import Behaviours, evaluate
from agvent.filters.languages import parse
from agvent.filters.subscription import ADDRESSES, Subscription
from agvent.filters.tree import Condition
from agvent.wire.codec import decode_event, extended, extension
from agvent.wire.parts import Answered

EVENTS_KEPT: Final = 1_024
"""Events whose outcomes are kept; the largest of worlds have 20 kB."""

CLAUSES_KEPT: Final = 4_096

_encoder = msgspec.msgpack.Encoder(enc_hook=extended)
_events = msgspec.msgpack.Decoder(Event, ext_hook=extension)
_answers = msgspec.msgpack.Decoder(tuple[Answered, ...], ext_hook=extension)


class Clause(msgspec.Struct, eq=False):
    """One of the conditions that a subscription joins."""

    condition: Condition


class Question(msgspec.Struct, eq=False):
    """An event with what its behaviours say, and what came out of the clauses that it was asked for."""

    event: Event
    behaviours: Behaviours
    outcomes: dict[Clause, bool] = {}

    def matches(self, clauses: tuple[Clause, ...]) -> bool:
        """Is every clause true of the event?"""
        return all(self._outcome(clause) for clause in clauses)

    def _outcome(self, clause: Clause) -> bool:
        found = self.outcomes.get(clause)
        if found is None:
            found = self.outcomes[clause] = evaluate(clause.condition, self.event, self.behaviours) is True
        return found


def entered(content: bytes, answers: tuple[Answered, ...]) -> Question:
    """An event as a broker has it on disk, with the answers beside it."""
    return _entered(content, _encoder.encode(answers) if answers else b"")


@lru_cache(EVENTS_KEPT)
def _entered(content: bytes, answers: bytes) -> Question:
    event = decode_event(content)
    return Question(event, Answers(_answers.decode(answers) if answers else (), event.cargo))


def published(event: Event) -> Question:
    """An event in its publisher's hands. No broker has seen it, and its behaviours are called here."""
    return _published(_encoder.encode(event))


@lru_cache(EVENTS_KEPT)
def _published(content: bytes) -> Question:
    event = _events.decode(content)
    return Question(event, Answering(event))


def clauses_of(one: Subscription) -> tuple[Clause, ...]:
    """What a subscription asks for, whoever has it."""
    address = tuple((key, value) for key in ADDRESSES if (value := getattr(one, key)) is not None)
    return _clauses(one.type, address, one.language, one.filter)


@lru_cache(CLAUSES_KEPT)
def _clauses(
    type: str | None, address: tuple[tuple[str, str | int], ...], language: str, filter: str
) -> tuple[Clause, ...]:
    joined = [
        _clause((("type", type),)) if type is not None else None,
        _clause(address) if address else None,
        _clause((("filter", filter), ("language", language))) if filter else None,
    ]
    return tuple(clause for clause in joined if clause is not None)


@lru_cache(CLAUSES_KEPT)
def _clause(asks: tuple[tuple[str, str | int], ...]) -> Clause:
    return Clause(Subscription(id="any", **dict(asks)).condition())  # type: ignore[arg-type]


def admits(to: str, subscriber: Subscription) -> bool:
    """Does a publisher's filter accept a subscriber?"""
    return not to or evaluate(_filter(to), subscriber.context or {}) is True


_filter: Callable[[str], Condition] = lru_cache(CLAUSES_KEPT)(parse)


class Answering:
    """The behaviours of an event of a simulated world, called in this process."""

    opaque = None

    def __init__(self, event: Event) -> None:
        self.event = event

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        if self.event.cargo is None:
            return None
        (given,) = args or (None,)
        price = self.event.attributes.get("price")
        if not isinstance(given, int) or not isinstance(price, int):
            return None
        return price > given if name == "is_dear" else 2 * given if name == "twice" else None
