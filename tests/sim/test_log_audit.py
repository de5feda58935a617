"""The audit in memory, on small logs told by hand: clients that move, and events that come late to where they were."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from agvent.chronicle.chronicle import MOVE_SHIFT
from agvent.event import EPOCH, Event, EventId
from agvent.filters.subscription import Subscription
from agvent.sim import chronicler
from agvent.sim.log_audit import LogAudit
from agvent.sim.memory_log import MemoryLog
from agvent.sim.run import run
from agvent.sim.scenario import scenario_of
from agvent.store.catalogue import subscription_row
from agvent.store.event_columns import LoggedEvent

HOME, NEXT, ENTRY = "h1", "h2", "e1"


class Tale:
    """A log of the subscription c/s, and of an event p:1 with the price 5 that entered at e1 before any of it. Another
    client, which never moves, has what comes late to a home: so its copy is the one that counts there."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.positions = {HOME: 0, NEXT: 0}
        self.event(ENTRY, epoch=0)

    def opens(self, home: str, version: int, filter: str = "price > 3", *, key: str = "c/s") -> None:
        said, client = Subscription(id=key, filter=filter), key.partition("/")[0]
        row = subscription_row(said, version=version, subscriber=client, home_broker=home, created_at=EPOCH)
        self._changes(home, "open", key, version, subscriptions=[row])

    def closes(self, home: str, version: int) -> None:
        self._changes(home, "close", "c/s", version)

    def comes_late(self, home: str) -> None:
        """The event is in the log again, as if it had entered at its home now."""
        self.opens(home, 1, key=f"of {home}/s")
        self.event(home, epoch=self.positions[home])
        self.delivers(home, 1, key=f"of {home}/s")

    def event(self, entry: str, *, epoch: int) -> None:
        event = Event(attributes={"price": 5}, id=EventId("p", 1))
        at = EPOCH + timedelta(seconds=epoch)
        self.log.append_events([LoggedEvent(event=event, accepted_at=at, entry_broker=entry, epoch=epoch)])

    def delivers(self, home: str, version: int, *, stay: int = 0, key: str = "c/s") -> None:
        row = {"publisher": "p", "sequence": 1, "quality": "durable", "subscription": key, "version": version}
        row |= {
            "subscriber": key.partition("/")[0],
            "home_broker": home,
            "entry_broker": home,
            "epoch": self.positions[home],
        }
        row |= {"position": (stay << MOVE_SHIFT) + 1, "attempts": 1, "delivered_at": EPOCH}
        self.log.append_tables("deliveries", {"deliveries": [row]})

    def defects(self) -> list[tuple[str, str, int]]:
        return [(one.kind, one.home, one.version) for one in LogAudit(self.log).defects()]

    def _changes(self, home: str, change: str, key: str, version: int, **tables: Any) -> None:
        self.positions[home] += 1
        at = {"home_broker": home, "position": self.positions[home]}
        changed = {**at, "change": change, "subscription": key, "version": version, "changed_at": EPOCH}
        applied = {**at, "entry_broker": home, "epoch": self.positions[home], "applied_at": EPOCH}
        self.log.append_catalogue(changes=[changed], epochs=[applied], **tables)


@pytest.fixture
def tale() -> Tale:
    return Tale()


def test_a_late_copy_is_lost_for_a_client_that_never_moved(tale: Tale) -> None:
    """The version is open, and its home is the only one that can answer."""
    tale.opens(HOME, 1)
    tale.comes_late(HOME)
    assert tale.defects() == [("lost", HOME, 1)]


def test_a_late_copy_from_before_a_move_may_be_the_old_homes(tale: Tale) -> None:
    """The old home answers, by the filter that was said there. The next one may deliver it too."""
    tale.opens(HOME, 1, "price > 9")
    tale.opens(NEXT, 2)
    tale.comes_late(NEXT)
    assert tale.defects() == []
    tale.delivers(NEXT, 2, stay=1)
    assert tale.defects() == []


def test_a_client_that_came_back_had_left_a_version(tale: Tale) -> None:
    """What comes late to the home that it was at before is for the version that it left, not for that of its return."""
    tale.opens(HOME, 1)
    tale.opens(NEXT, 2)
    tale.closes(HOME, 1)
    tale.opens(HOME, 3, "price > 4")
    tale.comes_late(HOME)
    tale.delivers(HOME, 1)
    assert tale.defects() == []


def test_a_version_left_long_ago_does_not_match_everything(tale: Tale) -> None:
    """What was left is owed what it matches."""
    tale.opens(HOME, 1, "price > 9")
    tale.opens(NEXT, 2)
    tale.closes(HOME, 1)
    tale.comes_late(HOME)
    tale.delivers(HOME, 1)
    assert tale.defects() == [("unexpected", HOME, 1)]


def test_a_version_that_was_replaced_at_its_home_is_owed_nothing_late(tale: Tale) -> None:
    """Another is in its place, in the same stay: that one decides."""
    tale.opens(HOME, 1)
    tale.closes(HOME, 1)
    tale.opens(HOME, 2, "price > 9")
    tale.opens(NEXT, 3)
    tale.comes_late(HOME)
    tale.delivers(HOME, 1)
    assert tale.defects() == [("unexpected", HOME, 1)]


@pytest.mark.parametrize("seed", [10182, 34101, 40018, 40175, 40185, 40487])
def test_the_logs_of_moves_are_so(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Worlds in which late copies and retries met clients that had moved: no judge of the log finds anything."""
    monkeypatch.setattr(chronicler, "LOGGED", 1.0)
    assert [one for one in run(scenario_of(seed)).violations if one.startswith("log")] == []
