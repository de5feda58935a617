"""After healing the tables are what a fresh network of the same clients would have."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.nodes import BrokerNode
from agvent.sim.world import World
from agvent.wire.names import client_key


def unconverged(world: World, ledger: Ledger) -> list[str]:
    live = [node for node in world.brokers.values() if node.alive]
    return [*_advertisements(world, live), *_subscriptions(world, live), *_interests(live)]


def _advertisements(world: World, live: list[BrokerNode]) -> list[str]:
    """Every broker has exactly the types that the clients now publish."""
    wanted = sorted(
        (client.home, name, type) for name, client in world.clients.items() for type in client.session.types
    )
    found = []
    for node in live:
        has = sorted((o, p, type.name) for o, p, type in node.broker.tables.advertisements.found(""))
        if has != wanted:
            found.append(f"{node.name} has the advertisements {has}, not {wanted}")
        owners = sorted(node.broker.tables.advertisements.owners())
        if owners != sorted(other.name for other in live):
            found.append(f"{node.name} knows the brokers {owners}")
    return found


def _subscriptions(world: World, live: list[BrokerNode]) -> list[str]:
    """Every home has exactly the subscriptions its clients now have."""
    found = []
    for node in live:
        has = sorted((v.subscription.id, v.number) for v in node.broker.tables.local.current.values())
        wanted = sorted(
            (f"{client_key(name, client.session.moves)}/{id}", subscribe.version)
            for name, client in world.clients.items()
            if client.home == node.name
            for id, subscribe in client.session.subscriptions.items()
        )
        if has != wanted:
            found.append(f"{node.name} has the subscriptions {has}, not {wanted}")
    return found


def _interests(live: list[BrokerNode]) -> list[str]:
    """Every entry has exactly the roots of every home that its advertisements overlap."""
    found = []
    for home in live:
        streams = home.broker.streams
        current = home.broker.tables.local.current
        for entry in live:
            if entry is home:
                continue
            overlaps = entry.broker.tables.advertisements.overlaps
            wanted = {
                key: current[key].number
                for key in streams.covering.roots()
                if overlaps(entry.name, current[key].subscription.type)
            }
            known = entry.broker.tables.interests.homes.get(home.name)
            if (known.roots if known else {}) != wanted:
                found.append(f"{entry.name} has {known and known.roots} of {home.name}, not {wanted}")
    return found
