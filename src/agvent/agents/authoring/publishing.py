"""From an instance to its event: attributes in clear, hidden and sealed fields as cargo."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from agvent import limits
from agvent.agents.authoring.agvent import Agvent, Secrecy
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.secrecy.hidden_fields import Hider, bound_to
from agvent.agents.secrecy.sealed_fields import Sealer
from agvent.errors import EventError
from agvent.event import Budget, Cargo, Event

INSIDE = (Secrecy.OPAQUE, Secrecy.HIDDEN)


def published(
    agvent: Agvent,
    publisher: str,
    *,
    hider: Hider | None = None,
    sealer: Sealer | None = None,
    topic: str | int | None = None,
    time: datetime | None = None,
    budget: Budget | None = None,
) -> Event:
    """The event of an agvent. Hidden fields need a `hider`, sealed ones a `sealer` of this publisher and type. `budget`
    is for one that finds its own way."""
    cls = type(agvent)
    program, fields = program_of(cls), cls.__agvent_fields__.values()
    values = {one.name: _listed(getattr(agvent, one.name)) for one in fields}
    hidden = {one.name: values[one.name] for one in fields if one.secrecy in INSIDE}
    sealed = {one.name: values[one.name] for one in fields if one.secrecy is Secrecy.SEALED}
    if hidden and hider is None:
        raise EventError(f"{cls.__name__} has hidden fields", hint="give hider=Hider(the hosts' public key, …)")
    if sealed and (sealer is None or (sealer.publisher, sealer.type) != (publisher, cls.__name__)):
        raise EventError(f"{cls.__name__} has sealed fields", hint=f"give sealer=Sealer({publisher!r}, …)")
    if budget is not None:
        _check_budget(budget)
    if budget is not None and not program.routes:
        raise EventError(f"{cls.__name__} has no route to spend a budget on", hint="write def route(self, server)")
    return Event(
        attributes={one.name: values[one.name] for one in fields if one.secrecy is Secrecy.PUBLIC},
        type=cls.__name__,
        ancestors=type_of(cls).ancestors,
        topic=topic,
        time=time,
        cargo=Cargo(
            program.hash,
            hider.hide(hidden, bound_to(publisher, cls.__name__, program.hash)) if hidden and hider else b"",
            sealer.seal(sealed) if sealed and sealer else b"",
            tuple(one.name for one in fields if one.secrecy is Secrecy.OPAQUE),
            (budget or Budget()) if program.routes else None,
        ),
    )


def _check_budget(budget: Budget) -> None:
    if not isinstance(budget, Budget):
        raise EventError(f"a budget cannot be a {type(budget).__name__}", hint="write budget=Budget(hops=…, clones=…)")
    for name in Budget.__struct_fields__:
        amount = getattr(budget, name)
        if type(amount) is not int or not 0 <= amount <= limits.INT_MAX:
            raise EventError(f"a budget of {name} cannot be {amount!r}"[:200], hint="each is an integer from 0 on")


def _listed(value: Any) -> Any:
    """A tuple as the list that an event has for it."""
    return list(value) if isinstance(value, tuple) else value
