"""Many runs, on several processes, and what they came to."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice

import msgspec

from agvent.sim.run import Verdict, crash_of, judged, simulated
from agvent.sim.scenario import Scenario

AHEAD = 4
"""Runs that wait for each process, so that none is idle and an interrupt is soon obeyed."""


class SweepSummary(msgspec.Struct):
    """What a sweep has seen so far."""

    runs: int = 0
    violations: int = 0
    events: int = 0
    deliveries: int = 0
    steps: int = 0
    frames: int = 0
    virtual_s: float = 0.0
    faults: dict[str, int] = {}

    def add(self, verdict: Verdict) -> None:
        self.runs += 1
        self.violations += len(verdict.violations)
        self.events += verdict.events
        self.deliveries += verdict.deliveries
        self.steps += verdict.steps
        self.frames += verdict.frames
        self.virtual_s = round(self.virtual_s + verdict.virtual_s, 3)
        for kind, count in verdict.faults.items():
            self.faults[kind] = self.faults.get(kind, 0) + count


def run_twice(scenario: Scenario) -> Verdict:
    """The verdict on a scenario; that it crashes or does not replay is a violation too."""
    try:
        first = judged(scenario, simulated(scenario))
        second = simulated(scenario).digest.hexdigest()
    except Exception as error:  # noqa: BLE001 - whatever a broker does not take
        return _crashed(scenario, error)
    if first.digest == second:
        return first
    return msgspec.structs.replace(first, violations=(*first.violations, "replay: the second run went another way"))


def _crashed(scenario: Scenario, error: Exception) -> Verdict:
    """The verdict on a run that came to no end."""
    return Verdict(
        scenario=scenario,
        violations=(crash_of(error),),
        digest="",
        steps=0,
        frames=0,
        events=0,
        deliveries=0,
        faults={},
        virtual_s=0.0,
    )


def _begin() -> None:
    """In a process that only runs worlds: what is there now stays, so no collection need look at it."""
    gc.collect()
    gc.freeze()
    gc.disable()


def _run_alone(scenario: Scenario) -> Verdict:
    """In such a process: a world becomes garbage all at once, when its run is over."""
    verdict = run_twice(scenario)
    gc.collect()
    return verdict


def sweep(scenarios: Iterable[Scenario], *, jobs: int) -> Iterator[Verdict]:
    """The verdicts on scenarios, in order."""
    if jobs == 1:
        yield from map(run_twice, scenarios)
        return
    remaining = iter(scenarios)
    with ProcessPoolExecutor(jobs, initializer=_begin) as pool:
        waiting = [pool.submit(_run_alone, scenario) for scenario in islice(remaining, AHEAD * jobs)]
        while waiting:
            yield waiting.pop(0).result()
            waiting += [pool.submit(_run_alone, scenario) for scenario in islice(remaining, 1)]
