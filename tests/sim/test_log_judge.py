"""The checker `log` fails for each kind of log that is not so, and for no other reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agvent.broker.records import Acknowledged, Claimed
from agvent.chronicle import bookmark
from agvent.chronicle.bookmark import BatchPlan
from agvent.chronicle.carried_state import Delivered
from agvent.chronicle.chronicle import Chronicle
from agvent.chronicle.log_rows import LogRows
from agvent.sim import chronicler
from agvent.sim.checkers.log import untrue
from agvent.sim.ledger import Ledger
from agvent.sim.run import simulated
from agvent.sim.scenario import Scenario
from agvent.wire.parts import Answered, Publication

SEEDS = range(12)

Patch = Callable[[pytest.MonkeyPatch], None]


def every(scenario: Scenario) -> list[str]:
    world = simulated(scenario)
    return untrue(world, Ledger(world.history))


def forgets_deliveries(patch: pytest.MonkeyPatch) -> None:
    made = Chronicle._delivery

    def sometimes(
        self: Chronicle, arrived: Any, record: Acknowledged | Claimed, subscription: str, version: int
    ) -> None:
        if arrived.publication.sequence % 5:
            made(self, arrived, record, subscription, version)

    patch.setattr(Chronicle, "_delivery", sometimes)


def counts_each_delivery_twice(patch: pytest.MonkeyPatch) -> None:
    taken = Chronicle._taken

    def again(self: Chronicle, client: str, number: int) -> list[Delivered]:
        return [one for one in taken(self, client, number) for _ in range(2)]

    patch.setattr(Chronicle, "_taken", again)


def names_the_version_before(patch: pytest.MonkeyPatch) -> None:
    made = Chronicle._delivery

    def older(self: Chronicle, arrived: Any, record: Acknowledged | Claimed, subscription: str, version: int) -> None:
        made(self, arrived, record, subscription, version - 1)

    patch.setattr(Chronicle, "_delivery", older)


def hides_faults(patch: pytest.MonkeyPatch) -> None:
    answered = Chronicle._answered

    def well(self: Chronicle, record: Any, publication: Publication) -> None:
        answers: tuple[Answered, ...] = tuple(replace(one, fault="") for one in record.entered.answers)
        answered(self, replace(record, entered=replace(record.entered, answers=answers)), publication)

    patch.setattr(Chronicle, "_answered", well)


def writes_events_last(patch: pytest.MonkeyPatch) -> None:
    write = LogRows.write

    def backwards(self: LogRows, log: Any, *, batch: Any = None) -> None:
        events, self.events = self.events, []
        write(self, log, batch=batch)
        if events:
            log.append_events(events, batch=batch)

    patch.setattr(LogRows, "write", backwards)


def forgets_what_it_had_planned(patch: pytest.MonkeyPatch) -> None:
    read = bookmark.read

    def without(log: Path, name: str, kind: type[Any]) -> Any:
        return None if kind is BatchPlan else read(log, name, kind)

    patch.setattr(bookmark, "read", without)


MISTAKES = [
    (forgets_deliveries, "lost for|has no delivery"),
    (counts_each_delivery_twice, "duplicated for|at one position"),
    (names_the_version_before, "unexpected for"),
    (hides_faults, "of behaviours"),
    (writes_events_last, "before its event"),
    (forgets_what_it_had_planned, "the log lacks|has no delivery|lost for"),
]


@pytest.fixture
def with_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chronicler, "LOGGED", 1.0)


@pytest.mark.usefixtures("with_logs")
@pytest.mark.parametrize(("mistake", "what"), MISTAKES, ids=lambda given: getattr(given, "__name__", ""))
def test_a_log_that_is_not_so_is_seen(monkeypatch: pytest.MonkeyPatch, mistake: Patch, what: str) -> None:
    """One of a few runs has a violation of that kind."""
    mistake(monkeypatch)
    expected = set(what.split("|"))
    for seed in SEEDS:
        found = every(Scenario(seed=seed, topology="tree", faults="crashes"))
        if any(part in one for one in found for part in expected):
            return
    pytest.fail(f"{mistake.__name__} was not seen")


@pytest.mark.usefixtures("with_logs")
def test_a_log_is_written_over_crashes_of_its_writer() -> None:
    """The writer of some log ended in the middle, and what it wrote is judged to be so."""
    crashes = 0
    for seed in SEEDS[:4]:
        world = simulated(Scenario(seed=seed, topology="line", faults="all"))
        assert untrue(world, Ledger(world.history)) == []
        assert world.chronicler is not None
        crashes += world.chronicler.crashes
    assert crashes


def test_a_run_without_a_log_is_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no log is written nothing is said of one."""
    monkeypatch.setattr(chronicler, "LOGGED", 0.0)
    world = simulated(Scenario(seed=1, topology="line", faults="none"))
    assert world.chronicler is None
    assert untrue(world, Ledger(world.history)) == []
