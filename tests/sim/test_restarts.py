"""Restart equivalence: seen to fail where a snapshot or the journal leaves something out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from agvent.broker.records import Arrived, Counted, Opened, Queued, Reached, Record, Stood, Wanted
from agvent.broker.tables.chains import Chains
from agvent.broker.tables.deliveries import Deliveries
from agvent.broker.tables.tables import Tables
from agvent.sim.durable import difference, durable, tables_of
from agvent.sim.run import run
from agvent.sim.scenario import scenario_of

SEEDS = (0, 5, 12)


def violations() -> set[str]:
    """What is said of the durable tables in some runs in which no broker stops."""
    found = (one for seed in SEEDS for one in run(scenario_of(seed, faults="links")).violations)
    return {one for one in found if one.startswith("restarted: ")}


def without(kind: type[Record]) -> Callable[[Tables], Iterator[Record]]:
    whole = Tables.snapshot

    def snapshot(tables: Tables) -> Iterator[Record]:
        return (record for record in whole(tables) if not isinstance(record, kind))

    return snapshot


def test_snapshots_and_journals_give_the_tables_again() -> None:
    assert violations() == set()


@pytest.mark.parametrize("kind", [Counted, Reached, Stood, Wanted])
def test_a_snapshot_without_a_kind_of_record_is_seen(kind: type[Record], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tables, "snapshot", without(kind))
    assert any(" would start from a snapshot with other tables: " in one for one in violations())


def test_a_field_that_a_snapshot_does_not_bring_back_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    recall = Deliveries.recall

    def recalled(self: Deliveries, record: Queued) -> None:
        recall(self, record)
        self.clients[record.client].durable.received = 0

    monkeypatch.setattr(Deliveries, "recall", recalled)
    assert any("received: 0, not " in one for one in violations())


def test_a_change_without_a_record_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was changed beside the records is gone after a restart."""
    apply = Chains.apply

    def applied(self: Chains, record: Arrived) -> None:
        apply(self, record)
        self.arrivals = getattr(self, "arrivals", 0) + 1  # type: ignore[attr-defined]

    monkeypatch.setattr(Chains, "apply", applied)
    assert any(" chains arrivals" in one for one in violations())


def test_tables_without_an_index_are_compared_by_what_is_filed() -> None:
    """Two homes that want different things are told apart, and where it begins is said."""
    empty = tables_of("A", 1, [])
    assert difference(durable(empty), durable(Tables("A", 1))) == ""
    other = tables_of("A", 1, [Counted(1, 2, 3)])
    assert difference(durable(empty), durable(other)) == " boot: 1, not 0"
    assert Opened not in {type(record) for record in other.snapshot()}
