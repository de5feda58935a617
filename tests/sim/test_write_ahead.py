"""The write-ahead rule: seen to fail for each kind of work that a broker does before its records are on disk."""

from __future__ import annotations

import pytest

from agvent.broker.interest.streams import Streams
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
