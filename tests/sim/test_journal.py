"""A restart: the journal applied to empty tables gives the tables there were."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agvent.broker.tables import Tables
from agvent.sim.nodes import BrokerNode
from agvent.sim.plan import plan_of
from agvent.sim.run import simulated


def durable(tables: Tables) -> dict[str, Any]:
    """The durable part of the tables, as plain data."""
    custody = {key: (sorted(held.copies), held.lost) for key, held in tables.custody.held.items() if not key[4]}
    clients = {
        name: (client.durable.number, client.durable.received, client.durable.waiting)
        for name, client in tables.deliveries.clients.items()
    }
    return {
        "advertisements": tables.advertisements.known(),
        "types": tables.advertisements.found(""),
        "position": tables.homes.position,
        "current": tables.homes.current,
        "replaced": tables.homes.replaced,
        "epoch": tables.interests.epoch,
        "homes": tables.interests.homes,
        "custody": custody,
        "accepted": {key: value for key, value in tables.custody.accepted.items() if not key[1]},
        "chain": {key: value for key, value in tables.custody.chain.items() if not key[3]},
        "last": {chain: value for chain, value in tables.arrivals.last.items() if not chain[3]},
        "early": {chain: value for chain, value in tables.arrivals.early.items() if not chain[3]},
        "clients": clients,
    }


def restarted(node: BrokerNode) -> Tables:
    """The tables that the disk gives, everything appended counted as synced."""
    node.disk.sync(len(node.disk.unsynced))
    tables = Tables(node.name, node.incarnation)
    for record in node.disk.read():
        tables.apply(record)
    return tables


@pytest.mark.parametrize("seed", [0, 12, 23, 33, 39, 41, 47])
def test_the_journal_gives_the_tables_again(seed: int) -> None:
    """After a run, with whatever faults, every broker's journal gives its tables as they are."""
    for node in simulated(plan_of(seed)).brokers.values():
        if node.alive:
            assert msgspec.to_builtins(durable(restarted(node)), str_keys=False, builtin_types=(bytes,)) == (
                msgspec.to_builtins(durable(node.broker.tables), str_keys=False, builtin_types=(bytes,))
            )
