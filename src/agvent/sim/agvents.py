"""The agvents of simulated worlds. Their programs run in this process, as the trusted ones they are.

`is_dear(limit)` compares the price, `twice(number)` computes, and `fails()` does what its name says.
"""

from __future__ import annotations

from typing import Final

import msgspec

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.execution.sandbox import Sandbox
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.execution.trusted_sandbox import TrustedSandbox
from agvent.event import Budget, Cargo, Event
from agvent.sim.couriers import COURIERS
from agvent.sim.priced import Priced


class Quote(Priced, Agvent):
    """What somebody asks for something."""


class Trade(Quote):
    """A quote that somebody took."""


class Book(Priced, Agvent):
    """A type of its own."""


CLASSES: Final[tuple[type[Agvent], ...]] = (Quote, Trade, Book)
TYPES: Final = tuple(map(type_of, CLASSES))
COURIER_TYPES: Final = tuple(map(type_of, COURIERS))
_CARGOES: Final = {cls.__name__: Cargo(program_of(cls).hash) for cls in CLASSES} | {
    cls.__name__: Cargo(program_of(cls).hash, budget=Budget()) for cls in COURIERS
}


def agvent(event: Event, program: str = "Quote", budget: Budget | None = None) -> Event:
    """The event with the program of its type; without a type, with one that is named."""
    cargo = _CARGOES[event.type or program]
    return msgspec.structs.replace(event, cargo=msgspec.structs.replace(cargo, budget=budget or cargo.budget))


def program_name(event: Event) -> str:
    """The class whose program an event carries; empty if it carries none."""
    return next((name for name, cargo in _CARGOES.items() if event.cargo and cargo.program == event.cargo.program), "")


def sandbox() -> Sandbox:
    """A sandbox that has all of them."""
    programs = Programs()
    for cls in (*CLASSES, *COURIERS):
        programs.trust(program_of(cls))
    return TrustedSandbox(programs)
