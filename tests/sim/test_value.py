"""A broker between two steps is a value: it can be shown, compared and copied, and a copy goes on alike."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from agvent.broker.broker import Broker
from agvent.broker.interface import Effect, Input
from agvent.broker.notices import QueuesChanged
from agvent.broker.records import Record
from agvent.broker.value import dumped
from agvent.sim.run import run
from agvent.sim.scenario import MIXES, scenario_of

FORK_AT = 60
"""Steps before each broker is copied: by then clients are attached and the faults have begun."""


class Forked(Broker):
    """Is copied in the middle of its run; from then on the copy gets every input too, and has to give every effect."""

    steps = 0
    forked = 0  # over all brokers of a run

    def __init__(self, name: str, incarnation: int, records: Iterable[Record] = (), *, now: int = 0) -> None:
        super().__init__(name, incarnation, records, now=now)
        self.twin: Broker | None = None

    def step(self, inputs: Iterable[Input], now: int) -> list[Effect]:
        inputs = list(inputs)
        self.steps += 1
        if self.steps == FORK_AT:
            twin = copy.deepcopy(self)
            assert dumped(twin) == dumped(self)
            self.twin = twin
            Forked.forked += 1
        effects = super().step(inputs, now)
        if self.twin is not None:
            assert Broker.step(self.twin, inputs, now) == effects
            if self.steps % 50 == 0:
                self.twin.check()
                assert _alike(self)
        return effects


def _alike(broker: Forked) -> bool:
    """Is the broker, but for its twin, as its twin is?"""
    mine, other = dumped(broker), dumped(broker.twin) if broker.twin is not None else {}
    for name in ("twin", "steps"):
        mine.pop(name, None)
        other.pop(name, None)
    return mine == other


@pytest.mark.parametrize("seed", [3, 17, 38, 52, 74])
@pytest.mark.parametrize("couriers", [False, True])
def test_a_broker_forked_in_the_middle_of_a_run_goes_on_equally(seed: int, couriers: bool) -> None:
    """With faults, moves and self-routing agvents: the copy gives the same effects and ends with the same tables."""
    plan = scenario_of(seed, faults=list(MIXES)[seed % len(MIXES)], couriers=couriers)
    Forked.forked = 0
    assert run(plan, make=Forked).digest == run(plan).digest
    assert Forked.forked > 2


def test_a_copy_shares_nothing_with_its_original() -> None:
    """A step of one changes nothing in the other."""
    one = Broker("A", 1)
    other = copy.deepcopy(one)
    before = dumped(one)
    other.router.up("B", "link")
    other.out.notify(QueuesChanged(("ann",)))
    assert dumped(one) == before
    assert dumped(other) != before


SEEN: list[str] = []


def closure(seen: list[str]) -> Callable[[], None]:
    return lambda: seen.append("x")


@pytest.mark.parametrize("work", [partial(SEEN.append, "x"), closure(SEEN)], ids=["partial", "lambda"])
def test_a_closure_in_a_broker_is_refused(work: Callable[[], None]) -> None:
    """Work that waits in a closure could be neither shown nor copied."""
    broker = Broker("A", 1)
    broker.router.seeks["B"] = work  # type: ignore[assignment]
    with pytest.raises(AssertionError, match="is a closure"):
        dumped(broker)


class Slotted:
    __slots__ = ("hidden",)

    def __init__(self) -> None:
        self.hidden = 1


class HalfSlotted(Slotted):
    """Has a `__dict__` beside its base's slot."""


@pytest.mark.parametrize("given", [Slotted(), HalfSlotted(), bytearray(b"x")], ids=["slots", "both", "not Python"])
def test_what_a_dump_cannot_show_is_refused(given: object) -> None:
    """Two brokers that differ in it would have the same dump."""
    broker = Broker("A", 1)
    broker.router.seeks["B"] = given  # type: ignore[assignment]
    with pytest.raises(AssertionError, match=r"broker\.router\.seeks\[B\] cannot be shown"):
        dumped(broker)
