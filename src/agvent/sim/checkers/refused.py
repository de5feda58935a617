"""A publication is refused where it must be, and only there, and then nobody is given it.

A type must be advertised by the publisher; `to` may call no behaviours; a self-routing agvent may not be fast. From
what the publisher asked and was told it follows for most events whether they were right.
"""

from __future__ import annotations

from collections.abc import Iterator

from agvent.sim.checkers.answers import subject_of
from agvent.sim.ledger import Ledger
from agvent.sim.promises import NEVER, MadeEvent, Promises, is_self_routing
from agvent.sim.world import ClientTold, World
from agvent.wire.client_messages import Advertised, Refused


def misrefused(world: World, ledger: Ledger) -> list[str]:
    promises, standing = Promises.of(world.history), _standing(world)
    advertised = {(one.client, subject_of(one)) for one in world.history.asked if one.method == "advertise"}
    withdrawn = {(one.client, subject_of(one)) for one in world.history.asked if one.method == "unadvertise"}
    given = {(receipt.owed.event, receipt.fast) for receipt in promises.receipts}
    crowded = _with_several_processes(world)
    unsteady = {node.client for node in world.clients.values() if len(node.homes) > 1} | crowded
    unsteady |= _at_lost_disks(world)
    found = [*_contradictions(world)]
    for (id, fast), made in promises.events.items():
        type, client = made.event.type, id.publisher
        is_wrong = _is_wrong(made, fast) or (type is not None and (client, type) not in advertised)
        if is_wrong:
            if made.accepted < NEVER or (id, fast) in given:
                found.append(f"{made.process} was not refused {id.sequence}, which it may not publish")
        elif made.is_refused and client not in unsteady:
            since = 0 if type is None else standing.get((made.process, type), NEVER)
            if since < made.published and (client, type) not in withdrawn:
                found.append(f"{made.process} was refused {id.sequence}, which it may publish")
    return found


def _is_wrong(made: MadeEvent, fast: bool) -> bool:
    """Is it so whatever its publisher has advertised?"""
    return "is_dear" in made.to or (fast and is_self_routing(made.event))


def _standing(world: World) -> dict[tuple[str, str], int]:
    """Since when a process was told that a type is advertised."""
    asked = {(one.process, one.result): subject_of(one) for one in world.history.asked if one.method == "advertise"}
    found: dict[tuple[str, str], int] = {}
    for told in world.history.told:
        if isinstance(told.message, Advertised):
            type = asked.get((told.process, told.message.request))
            if type is not None:
                found.setdefault((told.process, type), told.at)
    return found


def _with_several_processes(world: World) -> set[str]:
    """Clients of which one process may have the numbers of another's events."""
    return {node.client for node in world.clients.values() if node.session.life}


def _at_lost_disks(world: World) -> set[str]:
    lost = {name for name, _ in world.history.lost_disks}
    return {node.client for node in world.clients.values() if lost & {*node.homes}}


def _contradictions(world: World) -> Iterator[str]:
    """Events that were accepted first and refused then."""
    promises = Promises.of(world.history)
    refused: dict[tuple[str, int, bool], ClientTold] = {}
    for told in world.history.told:
        if isinstance(told.message, Refused) and told.message.sequence:
            refused.setdefault((told.process, told.message.sequence, told.message.fast), told)
    for (id, fast), made in promises.events.items():
        refusal = refused.get((made.process, id.sequence, fast))
        if refusal is not None and made.accepted < refusal.at and not made.is_refused:
            yield f"{made.process} was told that {id.sequence} is accepted, and then that it is refused"
