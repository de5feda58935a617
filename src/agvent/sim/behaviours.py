"""The agvents of simulated worlds. Their programs run in this process, as the trusted ones they are.

`is_dear(limit)` compares the price, `twice(number)` computes, and `fails()` does what its name says.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agvent.agents.agvent import Agvent
from agvent.agents.code import Programs
from agvent.agents.portable import program_of
from agvent.agents.sandbox import Sandbox
from agvent.agents.trusted import TrustedSandbox
from agvent.agents.types import type_of
from agvent.event import Cargo, Event


class Priced:
    """What all of them have."""

    price: int

    def is_dear(self, limit: int) -> bool:
        """Is the price above a limit?"""
        return self.price > limit

    def twice(self, number: int) -> int:
        """Two times a number."""
        return 2 * number

    def fails(self) -> bool:
        """Never answers."""
        raise ValueError("this behaviour always fails")


class Quote(Priced, Agvent):
    """What somebody asks for something."""


class Trade(Quote):
    """A quote that somebody took."""


class Book(Priced, Agvent):
    """A type of its own."""


CLASSES: Final[tuple[type[Agvent], ...]] = (Quote, Trade, Book)
TYPES: Final = tuple(map(type_of, CLASSES))
_CARGOES: Final = {cls.__name__: Cargo(program_of(cls).hash) for cls in CLASSES}


def agvent(event: Event) -> Event:
    """The event with the program of its type; without a type, with that of Quote."""
    return msgspec.structs.replace(event, cargo=_CARGOES[event.type or "Quote"])


def sandbox() -> Sandbox:
    """A sandbox that has all of them."""
    programs = Programs()
    for cls in CLASSES:
        programs.trust(program_of(cls))
    return TrustedSandbox(programs)
