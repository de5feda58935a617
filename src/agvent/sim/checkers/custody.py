"""In the end nobody answers for anything any more: no event waits to enter, no copy is in custody or held back, no
delivery is unacknowledged."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def undrained(world: World, ledger: Ledger) -> list[str]:
    found = []
    for node in world.brokers.values():
        tables = node.broker.tables
        if node.alive and (entering := node.broker.entry.waiting()):
            found.append(f"{node.name} has events that wait for answers {entering}")
        if node.alive and tables.custody.held:
            found.append(f"{node.name} holds {list(tables.custody.held)}")
        if node.alive and tables.chains.early:
            found.append(f"{node.name} keeps back {list(tables.chains.early)}")
        if node.alive and (tables.journeys.errands or node.broker.stops.waiting):
            found.append(f"{node.name} has agvents under way {[*tables.journeys.errands, *node.broker.stops.waiting]}")
        queued = {
            name: list(client.durable.waiting)
            for name, client in tables.deliveries.clients.items()
            if client.durable.waiting
        }
        if node.alive and queued:
            found.append(f"{node.name} has undelivered {queued}")
        moving = [client.name for client in node.broker.moves.moving()]
        if node.alive and moving:
            found.append(f"{node.name} still waits for the old homes of {moving}")
    waiting = {one.name: sorted(one.session.unacknowledged) for one in world.living() if one.session.unacknowledged}
    return found + [f"{name} waits for the acknowledgement of {which}" for name, which in waiting.items()]
