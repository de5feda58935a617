"""Plans that are a little smaller than a plan, each by one change. reduce.py says which of them still fail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from msgspec.structs import replace

from agvent.sim.machine import Machine
from agvent.sim.plan import MEND, Plan, Step

Smaller = Callable[[Plan], Iterator[Plan]]

ROUND_US: Final = (1_000_000, 100_000, 10_000, 1_000)
"""Times are rounded down to the first of these that does."""

SPARE: Final = ("to", "destinations", "expires", "fast")
"""What a publication may do without."""


def without(plan: Plan, steps: Collection[Step]) -> Plan:
    """The plan without some steps; the end of chaos stays."""
    gone = {id(step) for step in steps if step.what != MEND}
    return replace(plan, steps=tuple(step for step in plan.steps if id(step) not in gone))


def without_calm(plan: Plan) -> Iterator[Plan]:
    """Without the events of the end."""
    yield replace(plan, has_calm=False)


def without_kinds(plan: Plan) -> Iterator[Plan]:
    """Without everything of a kind: no crash, no publication."""
    for what in dict.fromkeys(step.what for step in plan.steps):
        yield without(plan, [step for step in plan.steps if step.what == what])


def without_clients(plan: Plan) -> Iterator[Plan]:
    """Without a client and all that it does."""
    clients = {step.who: step.options.get("client", step.who) for step in plan.steps if step.what == "attach"}
    for client in plan.clients:
        yield without(plan, [step for step in plan.steps if clients.get(step.who) == client])


def with_real_limits(plan: Plan) -> Iterator[Plan]:
    """With all limits as they really are, or one."""
    yield replace(plan, limits={})
    for name in plan.limits:
        yield replace(plan, limits={other: value for other, value in plan.limits.items() if other != name})


def with_usual_machine(plan: Plan) -> Iterator[Plan]:
    """With ordinary machines, in all or in one way."""
    usual = Machine()
    yield replace(plan, machine=usual)
    for name in Machine.__struct_fields__:
        yield replace(plan, machine=replace(plan.machine, **{name: getattr(usual, name)}))


def with_fewer_brokers(plan: Plan) -> Iterator[Plan]:
    """A broker becomes one with a neighbour, so that the others are connected as before."""
    for broker in reversed(plan.brokers):
        neighbours = [b if a == broker else a for a, b in plan.edges if broker in (a, b)]
        for other in neighbours if len(plan.brokers) > 2 else ():
            yield merged(plan, broker, other)


def merged(plan: Plan, broker: str, other: str) -> Plan:
    """The plan in a network where `other` has the place of `broker` too."""
    renamed = [tuple(other if name == broker else name for name in edge) for edge in plan.edges]
    edges = tuple(dict.fromkeys((a, b) for a, b in renamed if a != b))
    steps = (_moved(step, broker, other) for step in plan.steps if step.who != broker)
    return replace(plan, edges=tuple(e for e in edges if e[::-1] not in edges or e < e[::-1]), steps=tuple(steps))


def _moved(step: Step, broker: str, other: str) -> Step:
    options = {name: other if value == broker else value for name, value in step.options.items()}
    if "neighbours" in options:
        options["neighbours"] = list(dict.fromkeys(other if one == broker else one for one in options["neighbours"]))
    return replace(step, options=options)


def with_simpler_calls(plan: Plan) -> Iterator[Plan]:
    """A publication without one of its options, a batch of fewer events, one event in place of a batch of one."""
    for at, step in enumerate(plan.steps):
        for options in _simpler(step.options):
            yield _with(plan, at, replace(step, options=options))
        if len(step.options.get("events", ())) == 1:
            options = {**step.options, "event": step.options["events"][0]}
            del options["events"]
            yield _with(plan, at, replace(step, what="publish", options=options))


def _simpler(options: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for name in SPARE:
        if name in options:
            yield {other: value for other, value in options.items() if other != name}
    events = options.get("events", ())
    for fewer in (events[: len(events) // 2], events[len(events) // 2 :], events[:-1]) if len(events) > 1 else ():
        yield {**options, "events": fewer}


def mended_earlier(plan: Plan) -> Iterator[Plan]:
    """The chaos phase ends with the last thing that is done in it, or a second later."""
    at = next(place for place, step in enumerate(plan.steps) if step.what == MEND)
    last = plan.steps[at - 1].at if at else 0
    for time in (last, last + 1_000_000):
        if time < plan.steps[at].at:
            yield _with(plan, at, replace(plan.steps[at], at=time))


def rounded(plan: Plan) -> Iterator[Plan]:
    """With round times, all or one; the order stays."""
    for unit in ROUND_US:
        yield replace(plan, steps=tuple(replace(step, at=step.at // unit * unit) for step in plan.steps))
    for at, step in enumerate(plan.steps):
        earliest = plan.steps[at - 1].at if at else 0
        for unit in ROUND_US:
            if step.at % unit and step.at // unit * unit >= earliest:
                yield _with(plan, at, replace(step, at=step.at // unit * unit))


def _with(plan: Plan, at: int, step: Step) -> Plan:
    return replace(plan, steps=(*plan.steps[:at], step, *plan.steps[at + 1 :]))


COARSE: Final[tuple[Smaller, ...]] = (without_calm, without_kinds, without_clients)
"""What may take much away at once."""

FINE: Final[tuple[Smaller, ...]] = (
    with_real_limits, with_usual_machine, with_fewer_brokers, with_simpler_calls, mended_earlier,
)  # fmt: skip
