"""Snapshots that are asked for, and a blackout at a moment of somebody's."""

from __future__ import annotations

from agvent.sim.world import World


def world() -> World:
    made = World(7, [("A", "B")])
    made.start()
    made.run(made.now + 1_000_000)
    return made


def test_a_broker_starts_from_a_snapshot_that_was_asked_for() -> None:
    """Its journal has not grown; what it knew is there again, and the whole journal would give the same."""
    made = world()
    made.doings.save("A")
    made.attach("ann", "A")
    made.run(made.now + 1_000_000)
    [snapshot] = made.brokers["A"].disk.folder.glob("*.snapshot")
    assert snapshot.stat().st_size > 28
    made.doings.crash("A", with_disk=True)
    made.doings.start("A")
    assert "ann" in made.brokers["A"].broker.tables.deliveries.clients
    assert made.restarts.found == []
    assert made.brokers["A"].disk.damage == []


def test_a_trap_may_stop_every_broker() -> None:
    made = world()
    made.doings.trap("*", kind="Joined", count=1, is_cut=False, delay="now", lasts=600_000, ahead_us=0, everywhere=True)
    made.attach("ann", "A")
    made.run(made.now + 100_000)
    assert [node.alive for node in made.brokers.values()] == [False, False]
    made.run(made.now + 1_000_000)
    assert [node.alive for node in made.brokers.values()] == [True, True]
