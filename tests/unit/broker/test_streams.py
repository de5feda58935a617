"""A home's stream and an entry's interests: whatever is lost, repeated or forgotten between them, they come to
agree."""

from __future__ import annotations

from random import Random

import pytest

from agvent import limits
from agvent.broker.interest.streams import Streams
from agvent.broker.records import Closed, Joined, Opened, Owned
from agvent.broker.tables.tables import Tables
from agvent.filters.subscription import Subscription
from agvent.types import AgventType
from agvent.wire.broker_messages import Applied, Delta, Entry, Interest

TYPES = [AgventType(name=name) for name in ("Book", "Tape", "Film")]
SECOND = 1_000_000


class Pair:
    """A home H and an entry E, and a line between them that loses most of what is said."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0
        self.home, self.entry = Tables("H", 1), Tables("E", 1)
        self.home.apply(Joined("c"))
        self.streams = Streams("H", 1, self.home.local, self.home.advertisements)
        self.boot = 0
        self.loss = 0.6
        self.restart_home()
        self.owned(Owned("E", 1, 1, (), False))

    def restart_home(self) -> None:
        """The home forgets what it said to whom."""
        self.boot += 1
        self.streams = Streams("H", 1, self.home.local, self.home.advertisements)
        self.streams.restart(self.boot)

    def owned(self, record: Owned) -> None:
        for tables in (self.home, self.entry):
            tables.apply(record)
        self.streams.considered("E", number=0)

    def advertise(self) -> None:
        version = self.home.advertisements.version("E") + 1
        entry = Entry(version, "p", self.random.choice(TYPES), self.random.random() < 0.7)
        self.owned(Owned("E", 1, version, (entry,), False))

    def change(self) -> None:
        homes = self.home.local
        key = f"c/s{self.random.randrange(6)}"
        epoch = self.home.interests.epoch + 1
        if key in homes.current:
            type = homes.current[key].subscription.type
            self.home.apply(Closed(homes.position + 1, key, False, epoch))
            self.streams.closed(key, type, number=0)
            return
        subscription = Subscription(
            id=key,
            type=self.random.choice([None, *(t.name for t in TYPES)]),
            filter=f"price > {self.random.randrange(4)}",
        )
        self.home.apply(Opened(homes.position + 1, "c", Interest(self.random.randrange(1 << 30), subscription), epoch))
        self.streams.opened(key, number=0)

    def talk(self) -> None:
        """A while passes: Deltas that are due go out, and what is not lost is answered, perhaps twice."""
        self.now += 3 * SECOND
        self.streams.tick()
        self.streams.flush(self.now, 0, self._deliver)

    def _deliver(self, targets: tuple[str, ...], delta: Delta) -> None:
        assert targets == ("E",)
        for _ in range(self.random.choice((1, 1, 2))):
            if self.random.random() >= self.loss:
                gathered = self.entry.interests.gathered(delta)
                heard = self.entry.interests.heard(gathered) if gathered is not None else None
                if heard is not None:
                    self.entry.apply(heard)
                home = self.entry.interests.homes.get("H")
                number, position = (home.number, home.position) if home else (0, 0)
                if self.random.random() >= self.loss:
                    epoch = self.entry.interests.epoch
                    self.streams.answered(
                        Applied(
                            entry="E", incarnation=1, number=number, position=position, epoch=epoch, settled=position
                        )
                    )

    def agree(self) -> bool:
        current, overlaps = self.home.local.current, self.home.advertisements.overlaps
        wanted = {
            key: current[key].number
            for key in self.streams.covering.roots()
            if overlaps("E", current[key].subscription.type)
        }
        home = self.entry.interests.homes.get("H")
        return (home.roots if home else {}) == wanted


@pytest.mark.parametrize("part_bytes", [limits.PART_BYTES_MAX, 100, 1])
@pytest.mark.parametrize("seed", range(20))
def test_home_and_entry_come_to_agree(seed: int, part_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through changes, advertisements, losses, repeats and restarts the entry ends with exactly the roots it should,
    whatever fits a part."""
    monkeypatch.setattr(limits, "PART_BYTES_MAX", part_bytes)
    pair = Pair(seed)
    for _ in range(60):
        pair.random.choice((pair.change, pair.change, pair.advertise, pair.talk, pair.talk, pair.restart_home))()
        pair.streams.check()
        pair.entry.interests.check()
    pair.loss = 0.0
    for _ in range(60):
        pair.talk()
    assert pair.agree()
    assert not pair.streams.waiting


def test_nothing_is_said_to_who_asks_for_nothing() -> None:
    """An entry that never advertised a type hears nothing of typed subscriptions."""
    pair = Pair(1)
    sent: list[Delta] = []
    subscription = Subscription(id="c/s", type="Book")
    pair.home.apply(Opened(1, "c", Interest(1, subscription), 1))
    pair.streams.opened("c/s", number=0)
    pair.streams.flush(1, 0, lambda _, delta: sent.append(delta))
    assert sent == []
    pair.advertise()
    pair.streams.flush(1, 0, lambda _, delta: sent.append(delta))
    assert [delta.previous for delta in sent] == [0]
