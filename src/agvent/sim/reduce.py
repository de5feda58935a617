"""Makes a run with a violation small: fewer steps, clients, brokers and limits, round times, and still the violation.

A run of a seed has some hundred steps, of which a bug needs a handful. Each change below takes something away from the
plan and runs what is left; it stays if a violation of the same checker is there, which need not be about the same
event. What can be taken away at once is tried first (a client, all steps of a kind, halves), then step by step, again
and again until nothing more goes (delta debugging: Zeller and Hildebrandt, 2002). The chance of links and machines is
their own, so that it is much the same in the smaller run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import Final

import msgspec

from agvent.broker.broker import Broker
from agvent.sim.plan import Plan
from agvent.sim.run import crash_of, replayed, violations_in
from agvent.sim.smaller import COARSE, FINE, Smaller, rounded, without

RUNS_MAX: Final = 3_000
"""After so many runs it is small enough."""

Show = Callable[["Reduction"], None]


class Reduction(msgspec.Struct):
    """A plan with a violation, and what it took to make it this small."""

    violation: str
    plan: Plan
    before: Plan
    runs: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """In one line: how much was taken away."""
        sizes = zip(self.before.sizes.items(), self.plan.sizes.values(), strict=True)
        changes = ", ".join(f"{what} {before} → {after}" for (what, before), after in sizes)
        return f"{changes}; {self.runs} runs, {self.seconds:.0f} s"


def violations_of(plan: Plan, *, make: type[Broker] = Broker) -> tuple[str, ...]:
    """What is wrong with the run of a plan."""
    try:
        return violations_in(replayed(plan, make=make), plan.limits)
    except Exception as error:  # noqa: BLE001 - whatever a broker does not take
        return (crash_of(error),)


def kind_of(violation: str) -> str:
    """The checker that found it; of a crash, what was raised."""
    checker, _, rest = violation.partition(": ")
    return f"{checker}: {rest.partition(':')[0]}" if checker == "crash" else checker


def reduce(plan: Plan, *, make: type[Broker] = Broker, show: Show = lambda _: None) -> Reduction | None:
    """The smallest plan that was found with a violation of the same kind; None if this one has no violation."""
    found = violations_of(plan, make=make)
    return Reducer(Reduction(found[0], plan, plan, runs=1), make, show).reduced() if found else None


class Reducer:
    """Tries smaller plans, and keeps the smallest that still has the violation."""

    def __init__(self, best: Reduction, make: type[Broker], show: Show) -> None:
        self.best, self.make, self.show = best, make, show
        self.kind = kind_of(best.violation)
        self.began = time.monotonic()

    def reduced(self) -> Reduction:
        before = None
        while before != self.best.plan:
            before = self.best.plan
            for smaller in COARSE:
                self._try_each(smaller)
            self._remove_steps()
            for smaller in FINE:
                self._try_each(smaller)
        self._try_each(rounded)
        return self.best

    def _try_each(self, smaller: Smaller) -> None:
        """Tries every plan that a change gives. Where one fails, the next of the smaller plan has its number."""
        tried = 0
        while (candidate := next(islice(smaller(self.best.plan), tried, None), None)) is not None:
            tried += not self._fails(candidate)

    def _remove_steps(self) -> None:
        """Without each half of the steps, each quarter, and so on down to each step."""
        size = len(self.best.plan.steps) // 2
        while size:
            end = len(self.best.plan.steps)
            while end > 0:
                start = max(0, end - size)
                self._fails(without(self.best.plan, self.best.plan.steps[start:end]))
                end = start
            size //= 2

    def _fails(self, plan: Plan) -> bool:
        if plan == self.best.plan or self.best.runs >= RUNS_MAX:
            return False
        found = [one for one in violations_of(plan, make=self.make) if kind_of(one) == self.kind]
        self.best.runs += 1
        self.best.seconds = time.monotonic() - self.began
        if found:
            self.best.plan, self.best.violation = plan, found[0]
        self.show(self.best)
        return bool(found)
