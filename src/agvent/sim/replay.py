"""From a run to its plan, and from a plan to a run.

A run and that of its plan are the same, frame by frame: `doings.py` notes all that comes from outside into a world, and
everything else follows from the seed. A test holds worlds to it; it fails where something is done to a world past
`doings.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any, Final

import msgspec

from agvent.errors import AgventError
from agvent.event import Budget, Event
from agvent.event_json import decode_event, encode_event
from agvent.filters.subscription import Subscription
from agvent.sim import odd_values
from agvent.sim.agvents import COURIER_TYPES, TYPES, agvent, program_name
from agvent.sim.doings import NOTED, Doing
from agvent.sim.interest_doings import PLAIN
from agvent.sim.network import Conditions
from agvent.sim.plan import MEND, Plan, ScriptError, Step, shortened
from agvent.sim.scenario import Scenario
from agvent.sim.world import START_US, World
from agvent.types import AgventType

KNOWN: Final = {type.name: type for type in (*TYPES, *COURIER_TYPES, *PLAIN)}

CALLS: Final = {
    "publish": "event",
    "publish_batch": "events",
    "subscribe": "subscription",
    "unsubscribe": "id",
    "advertise": "type",
    "unadvertise": "type",
    "get_advertisements": "type",
}
"""What clients ask their sessions for, and how a script names what they give."""


def plan_of(world: World, scenario: Scenario) -> Plan:
    """What was done in a scenario's run. One that crashed has its end where that would have been."""
    steps = [*map(_step, world.doings.noted)]
    if not any(step.what == MEND for step in steps):
        steps.append(Step(scenario.mended_at, "*", MEND))
    return Plan(
        seed=world.seed,
        edges=world.first_edges,
        steps=tuple(steps),
        limits=scenario.limits,
        machine=scenario.machine,
        has_calm=True,
    )


# From values to those of JSON


def _step(doing: Doing) -> Step:
    options = dict(doing.options)
    if doing.what in CALLS:
        (given,) = options.pop("given")
        options = {CALLS[doing.what]: given, **options}
    return Step(doing.at, doing.who, doing.what, {name: _plain(name, value) for name, value in options.items()})


def _plain(name: str, value: Any) -> Any:
    match value:
        case Event():
            return _values(value) | _cargo(value)
        case AgventType():
            return value.name if KNOWN.get(value.name) == value else shortened(value)
        case bytes():
            return value.hex()
        case Conditions() | Subscription():
            return shortened(value)
        case list() | tuple():
            return [_plain(name, one) for one in value]
        case _:
            return value - START_US if name == "expires" and value else value


def _values(event: Event) -> dict[str, Any]:
    """What JSON says of an event, and the place of a value that it cannot say."""
    if (place := odd_values.place_of(event)) is None:
        return dict(msgspec.json.decode(encode_event(event)))
    rest = {name: value for name, value in event.attributes.items() if name != odd_values.NAME}
    return {**msgspec.json.decode(encode_event(msgspec.structs.replace(event, attributes=rest))), "$odd": place}


def _cargo(event: Event) -> dict[str, Any]:
    """An agvent's program by its name, and its budget, where that is not the usual one."""
    program, cargo = program_name(event), event.cargo
    found: dict[str, Any] = {"$program": program} if program else {}
    if cargo is not None and cargo.budget is not None and (budget := shortened(cargo.budget)):
        found["$budget"] = budget
    return found


# From values of JSON to what is done


def schedule(plan: Plan, world: World) -> None:
    """Everything of a plan is going to happen in a world that has just begun."""
    for step in plan.steps:
        try:
            doing = _call(world, step) if step.what in CALLS else _doing(world, step)
        except (KeyError, TypeError, ValueError, msgspec.MsgspecError, AgventError) as error:
            raise ScriptError(f"{str(step).strip()!r} is not a step: {error}") from error
        world.doing(world.began + step.at, doing)


def _call(world: World, step: Step) -> Callable[[], None]:
    """What a client asks its session for."""
    options = dict(step.options)
    given = _given(step.what, options.pop(CALLS[step.what]))
    if "destinations" in options:
        options["destinations"] = tuple(options["destinations"])
    if "code" in options:
        options["code"] = bytes.fromhex(options["code"])
    if options.get("expires"):
        options["expires"] += START_US
    return partial(world.doings.ask, step.who, step.what, given, options)


def _doing(world: World, step: Step) -> Callable[[], None]:
    """What is done to the world. Each option must be one of the doing's."""
    if step.what not in NOTED:
        raise ScriptError(f"{step.what!r} is nothing that is done to a world")
    options = dict(step.options)
    if "conditions" in options:
        options["conditions"] = msgspec.convert(options["conditions"], Conditions)
    do = getattr(world.doings, step.what)
    signature(do).bind(step.who, **options)
    return partial(do, step.who, **options)


def _given(what: str, value: Any) -> Any:
    """What a client gives its session."""
    match what:
        case "publish":
            return _event(value)
        case "publish_batch":
            return [_event(one) for one in value]
        case "subscribe":
            return msgspec.convert(value, Subscription)
        case "advertise":
            return KNOWN[value] if isinstance(value, str) else msgspec.convert(value, AgventType)
        case _:
            return value


def _event(value: dict[str, Any]) -> Event:
    plain = dict(value)
    program, given = plain.pop("$program", ""), plain.pop("$budget", None)
    odd = plain.pop("$odd", None)
    event = decode_event(msgspec.json.encode(plain))
    if odd is not None:
        event = msgspec.structs.replace(event, attributes={**event.attributes, odd_values.NAME: odd_values.ODD[odd]})
    budget = None if given is None else msgspec.convert(given, Budget)
    return agvent(event, program, budget) if program else event
