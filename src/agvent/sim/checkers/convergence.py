"""After healing the tables are what a fresh network of the same clients would have."""

from __future__ import annotations

from agvent.sim.ledger import Ledger
from agvent.sim.nodes import BrokerNode
from agvent.sim.promises import Promises
from agvent.sim.world import World
from agvent.wire.names import client_key, name_of


def unconverged(world: World, ledger: Ledger) -> list[str]:
    live = [node for node in world.brokers.values() if node.alive]
    return [*_advertisements(world, live), *_subscriptions(world, live), *_interests(live)]


def _advertisements(world: World, live: list[BrokerNode]) -> list[str]:
    """Every broker has exactly the types that the clients now publish."""
    wanted = sorted(
        (client.home, client.client, said.type.name, said.type.schema)
        for client in world.living()
        for said in client.session.types.values()
    )
    found = []
    for node in live:
        has = sorted((o, p, type.name, type.schema) for o, p, type in node.broker.tables.advertisements.found(""))
        if has != wanted:
            found.append(f"{node.name} has the advertisements {has}, not {wanted}")
        owners = sorted(node.broker.tables.advertisements.owners())
        if owners != sorted(other.name for other in live):
            found.append(f"{node.name} knows the brokers {owners}")
    return found


def _subscriptions(world: World, live: list[BrokerNode]) -> list[str]:
    """Every home has exactly the subscriptions its clients now have. Where a process was refused a change of one that
    an earlier process of its name had, that one stands."""
    found = []
    for node in live:
        has = {
            (one.subscription.id, one.number): (name_of(one.client), one.subscription.id.partition("/")[2])
            for one in node.broker.tables.local.current.values()
        }
        wanted = {
            (f"{client_key(client.client, client.session.moves)}/{id}", subscribe.version): (client.client, id)
            for client in world.living()
            if client.home == node.name
            for id, subscribe in client.session.subscriptions.items()
        }
        if has.keys() != wanted.keys():
            refused = Promises.of(world.history).refused
            here = sorted(one for one, subscription in has.items() if subscription not in refused)
            there = sorted(one for one, subscription in wanted.items() if subscription not in refused)
            if here != there:
                found.append(f"{node.name} has the subscriptions {here}, not {there}")
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
