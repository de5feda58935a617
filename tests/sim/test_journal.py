"""A restart: the journal applied to empty tables gives the tables there were."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from agvent.broker.broker import Broker
from agvent.broker.interface import Effect, Input
from agvent.broker.records import decode_record, encode_record
from agvent.broker.tables.tables import Tables
from agvent.sim.nodes import BrokerNode
from agvent.sim.run import simulated
from agvent.sim.scenario import Scenario, scenario_of


def durable(tables: Tables) -> dict[str, Any]:
    """The durable part of the tables, as plain data."""
    custody = {key: (sorted(held.copies), held.lost) for key, held in tables.custody.held.items() if not key.boot}
    clients = {
        name: (client.durable.number, client.durable.received, client.durable.waiting, client.moving, client.claimed)
        for name, client in tables.deliveries.clients.items()
    }
    return {
        "advertisements": tables.advertisements.known(),
        "types": tables.advertisements.found(""),
        "position": tables.local.position,
        "current": tables.local.current,
        "replaced": tables.local.replaced,
        "epoch": tables.interests.epoch,
        "homes": tables.interests.homes,
        "custody": custody,
        "accepted": {key: value for key, value in tables.custody.accepted.items() if not key.fast},
        "chain": {key: value for key, value in tables.custody.chain.items() if not key.fast},
        "last": {chain: value for chain, value in tables.chains.last.items() if not chain.boot},
        "early": {chain: value for chain, value in tables.chains.early.items() if not chain.boot},
        "clients": clients,
        "repeats": list(tables.chains.repeats.snapshot()),
        "delegated": list(tables.custody.delegated()),
        "journeys": list(tables.journeys.snapshot()),
    }


def plain(state: Any) -> Any:
    """What can be compared and read; a key that is a struct is its text."""
    if isinstance(state, dict):
        return {repr(key): plain(value) for key, value in state.items()}
    return msgspec.to_builtins(state, str_keys=False, builtin_types=(bytes,))


def recalled(tables: Tables) -> Tables:
    """The tables that a snapshot gives."""
    made = Tables(tables.name, tables.incarnation)
    for record in tables.snapshot():
        made.apply(decode_record(encode_record(record)))
    made.check()
    return made


def restarted(node: BrokerNode) -> Tables:
    """The tables that the disk gives, everything appended counted as synced."""
    node.disk.sync(len(node.disk.unsynced))
    tables = Tables(node.name, node.incarnation)
    for record in node.disk.read():
        tables.apply(record)
    return tables


@pytest.mark.parametrize(
    "scenario",
    [
        *(scenario_of(seed) for seed in (0, 12, 23, 33, 39, 41, 47)),
        scenario_of(3, faults="moves"),
        scenario_of(7, couriers=True),
    ],
)
def test_the_journal_gives_the_tables_again(scenario: Scenario) -> None:
    """After a run, with whatever faults, every broker's journal gives its tables as they are."""
    for node in simulated(scenario).brokers.values():
        if node.alive:
            assert plain(durable(restarted(node))) == plain(durable(node.broker.tables))


@pytest.mark.parametrize(
    "scenario",
    [
        *(scenario_of(seed) for seed in (12, 39, 52)),
        scenario_of(5, faults="moves"),
        scenario_of(31, faults="all", couriers=True),
    ],
)
def test_a_snapshot_gives_the_tables_again(scenario: Scenario) -> None:
    """In the middle of a run and at its end, a snapshot written as bytes gives every broker's tables as they are."""
    seen: list[dict[str, Any]] = []

    class Looked(Broker):
        def step(self, inputs: Iterable[Input], now: int) -> list[Effect]:
            effects = super().step(inputs, now)
            if self.out.number % 11 == 0:
                seen.append(plain(durable(self.tables)))
                assert plain(durable(recalled(self.tables))) == seen[-1]
            return effects

    for node in simulated(scenario, make=Looked).brokers.values():
        if node.alive:
            assert plain(durable(recalled(node.broker.tables))) == plain(durable(node.broker.tables))
    assert any(one[repr("custody")] for one in seen)
