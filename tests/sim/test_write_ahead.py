"""The write-ahead rule: seen to fail for each kind of work that a broker does before its records are on disk."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from agvent.broker.interest.streams import Streams
from agvent.broker.interface import MessageCame, Send
from agvent.broker.outbox import Outbox, Work
from agvent.broker.pending import (
    DeliverQueues,
    Flood,
    LetLeave,
    NoteArrival,
    OpenSubscribe,
    SendClaim,
    SendHanding,
    SendRouted,
    SendTook,
    StartErrands,
    TellClient,
    WelcomeClient,
)
from agvent.sim.run import run
from agvent.sim.scenario import scenario_of
from agvent.wire.broker_messages import Adverts
from tests.sim.watched import Watched

SEEDS = (0, 8)
COURIERS = 31


def violations(*, faults: str, couriers: bool = False) -> set[str]:
    """What was ahead of a disk in some runs: of each, the first message."""
    seeds = (COURIERS,) if couriers else SEEDS
    found = (one for seed in seeds for one in run(scenario_of(seed, faults=faults, couriers=couriers)).violations)
    return {one for one in found if one.startswith("ahead: ")}


@pytest.mark.parametrize("faults", ["all", "moves"])
@pytest.mark.parametrize("couriers", [False, True])
def test_nothing_is_ahead_of_its_disk(faults: str, couriers: bool) -> None:
    assert violations(faults=faults, couriers=couriers) == set()


@pytest.mark.parametrize("is_told", [False, True])
def test_a_broker_that_was_told_may_say_at_once_that_another_is_gone(*, is_told: bool) -> None:
    """The one that said it first has it on disk. Told from memory, it comes without the way that it took."""
    world = Watched([("B1", "B2"), ("B2", "B4")])
    gone = Adverts(owner="B3", incarnation=2, since=0, version=1, entries=(), trace=(("B2", 128),), gone=True)
    told = [MessageCame("B1", replace(gone, trace=(("B1", 128),)))] if is_told else []
    world.write_ahead.stepped(world.brokers["B2"], [*told], [Send("B4", gone)])
    early = "B2 sent B4 Adverts at 6.000000 s before version 1 of B3's advertisements was on its disk"
    assert world.write_ahead.found == ([] if is_told else [early])


@pytest.mark.parametrize(
    ("kind", "messages"),
    [
        (LetLeave, {"Copies"}),
        (SendTook, {"Took"}),
        (NoteArrival, {"Confirm"}),
        (SendRouted, {"Applied"}),
        (Flood, {"Adverts"}),
        (WelcomeClient, {"Attached"}),
        (TellClient, {"Published", "Done"}),
        (OpenSubscribe, {"Subscribed"}),
        (DeliverQueues, {"Deliver"}),
        (SendClaim, {"Claim"}),
        (SendHanding, {"Handing"}),
    ],
)
def test_work_that_does_not_wait_is_seen(kind: type[Work], messages: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    do_early(kind, monkeypatch)
    found = " ".join(violations(faults="moves"))
    assert any(f" {message} at " in found for message in messages), found


@pytest.mark.parametrize(("kind", "message"), [(StartErrands, "Travel"), (SendRouted, "Landed")])
def test_agvents_that_do_not_wait_are_seen(kind: type[Work], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    do_early(kind, monkeypatch)
    if kind is SendRouted:  # the first of them is the answer to a Delta
        monkeypatch.setattr("agvent.sim.checkers.ahead.MOST", None)
    assert any(f" {message} at " in one for one in violations(faults="all", couriers=True))


def test_a_delta_that_does_not_wait_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    flush = Streams.flush
    monkeypatch.setattr(Streams, "flush", lambda self, now, synced, send: flush(self, now, 1 << 62, send))
    assert any(" Delta at " in one for one in violations(faults="all"))


def do_early(kind: type[Work], monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a broker do one kind of work at once."""
    after_sync = Outbox.after_sync

    def at_once(self: Outbox, work: Work) -> None:
        (self.do if isinstance(work, kind) else lambda one: after_sync(self, one))(work)

    monkeypatch.setattr(Outbox, "after_sync", at_once)
