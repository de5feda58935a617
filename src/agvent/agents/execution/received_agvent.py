"""An agvent as its subscriber holds it: attributes to read, behaviours to await. No code of it is here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agvent.errors import BehaviourError, EventError
from agvent.event import Event, checked
from agvent.types import AdvertisedBehaviour, AgventType
from agvent.wire.parts import Answered, BehaviourCall

Ask = Callable[[BehaviourCall], Awaitable[Answered]]
"""Whoever carries a call to the sandbox host of the subscriber's home and brings the answer."""


class ReceivedAgvent:
    """`book.pages` is a value, `await book.wholesale_price(10, "Ankara")` a call in the home's sandbox host.

    Its own attributes begin with an underscore: every other name is the agvent's.
    """

    def __init__(self, event: Event, type: AgventType, ask: Ask) -> None:
        self._event, self._type = event, type
        self._ask = ask
        self._behaviours = {one.name: one for one in type.behaviours}

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name in self._behaviours:
            return self._method(self._behaviours[name])
        if not name.startswith("_") and name in self._event.attributes:
            return self._event.attributes[name]
        raise AttributeError(f"the agvent has no attribute or behaviour {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._event.attributes, *self._behaviours})

    def _method(self, behaviour: AdvertisedBehaviour) -> Callable[..., Awaitable[Any]]:
        async def call(*args: Any, **named: Any) -> Any:
            answered = await self._ask(BehaviourCall(behaviour.name, _arguments(behaviour, args, named)))
            if answered.fault:
                raise BehaviourError(f"{self._type.name}.{behaviour.name}: {answered.fault}")
            return answered.value

        call.__name__, call.__doc__ = behaviour.name, behaviour.description
        return call


def _arguments(behaviour: AdvertisedBehaviour, args: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by place: those with names stand behind the others, in the order of the parameters. Only values
    that a message carries."""
    rest = [parameter.name for parameter in behaviour.parameters[len(args) :]]
    given = [name for name in rest if name in named]
    if given != rest[: len(given)] or len(given) != len(named):
        names = ", ".join(parameter.name for parameter in behaviour.parameters)
        raise EventError(f"{behaviour.name} takes ({names})", hint="give each once, and none behind one left out")
    placed = (*args, *(named[name] for name in given))
    for number, value in enumerate(placed, 1):
        checked(value, (f"argument {number} of {behaviour.name}",))
    return placed
