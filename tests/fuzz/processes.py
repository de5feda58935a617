"""A run on several processes, watched: one that dies or stays at an input is a finding, and the others go on.

Process p of n tries the numbers p, p + n, p + 2n, … of each target. The targets take turns, so that a run that is cut
short has tried all of them in proportion to their shares; a target has no more turns when its part of the inputs is
tried or its part of the seconds is over.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from tests.fuzz.run import Finding, Tally, run
from tests.fuzz.targets import TARGETS

POLL_S: Final = 1.0
QUIET_S: Final = 30.0
"""Seconds between lines of progress where nobody watches a terminal."""

STUCK_S: Final = 120.0
"""A process that stays this long at one input is ended, and the input is a finding."""


TURN_INPUTS: Final = 500
"""Inputs of one turn, for each unit of a target's share."""


class Plan:
    """What one run tries: of each target the numbers up to its part of the inputs, for its part of the seconds."""

    def __init__(self, names: Sequence[str], *, inputs: int, seconds: float, seed: int, processes: int) -> None:
        self.names = names
        self.seed = seed
        self.processes = processes
        self.shares = [TARGETS[name].share for name in names]
        whole = sum(self.shares)
        self.counts = [inputs * share // whole for share in self.shares]
        self.seconds = [seconds * share / whole for share in self.shares]

    def numbers(self, target: int, process: int) -> range:
        return range(process, self.counts[target], self.processes)


class Turns:
    """One process's turns at one target."""

    def __init__(self, plan: Plan, target: int, process: int) -> None:
        self.plan = plan
        self.target = target
        self.left = plan.numbers(target, process)
        self.left_s = plan.seconds[target]

    @property
    def is_over(self) -> bool:
        return not self.left or self.left_s <= 0

    def take(self, place: Any) -> Tally:
        """The next turn. `place` has the target and the number that is tried."""
        start = time.monotonic()
        size = TURN_INPUTS * self.plan.shares[self.target]
        now, self.left = self.left[:size], self.left[size:]

        def progress(number: int) -> None:
            place[0], place[1] = self.target, number

        tally = run(self.plan.names[self.target], self.plan.seed, now, progress=progress)
        self.left_s -= time.monotonic() - start
        return tally


def work(plan: Plan, process: int, place: Any, out: multiprocessing.connection.Connection) -> None:
    """One process's part of every target."""
    for name in plan.names:
        run(name, plan.seed, range(64))  # compiles, and fills what is made once
    turns = [Turns(plan, target, process) for target in range(len(plan.names))]
    while turns := [one for one in turns if not one.is_over]:
        for one in turns:
            out.send(one.take(place))
    out.close()


class Worker:
    """A process and what is known of it."""

    def __init__(self, plan: Plan, process: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.plan = plan
        self.place = context.RawArray("q", [0, 0])
        self.tallies, theirs = context.Pipe(duplex=False)
        self.process = context.Process(target=work, args=(plan, process, self.place, theirs), daemon=True)
        self.process.start()
        theirs.close()
        self.is_done = False
        self._seen = (-1, -1, time.monotonic())

    def poll(self) -> Tally | None:
        """A tally if there is one. A process that died or is stuck gives one with that input as its finding."""
        try:
            if self.tallies.poll():
                received: Tally = self.tallies.recv()
                return received
        except EOFError:
            self.is_done = True
            self.process.join()
            ended = self.process.exitcode or 0
            assert ended <= 0, "the fuzzer itself failed"
            return self._lost(f"the process died of signal {-ended}") if ended else None
        target, number = self.place
        if (target, number) != self._seen[:2]:
            self._seen = (target, number, time.monotonic())
        elif time.monotonic() - self._seen[2] > STUCK_S:
            self.is_done = True
            self.process.kill()
            return self._lost(f"no answer within {STUCK_S:.0f} s")
        return None

    def _lost(self, report: str) -> Tally:
        target, number = self.place
        name, seed = self.plan.names[target], self.plan.seed
        finding = Finding(target=name, seed=seed, number=number, kind=report, report=report)
        return Tally(target=name, inputs=1, failed=1, findings=[finding])


def run_all(plan: Plan) -> dict[str, Tally]:
    tallies = {name: Tally(target=name) for name in plan.names}
    workers = [Worker(plan, process) for process in range(plan.processes)]
    start = shown = time.monotonic()
    while not all(worker.is_done for worker in workers):
        waiting = [worker.tallies for worker in workers if not worker.is_done]
        multiprocessing.connection.wait(waiting, timeout=POLL_S)
        for worker in workers:
            tally = None if worker.is_done else worker.poll()
            if tally:
                tallies[tally.target].add(tally)
        if time.monotonic() - shown > (POLL_S if sys.stderr.isatty() else QUIET_S):
            shown = time.monotonic()
            show_progress(plan, workers, tallies, shown - start)
    return tallies


def show_progress(plan: Plan, workers: Sequence[Worker], tallies: dict[str, Tally], seconds: float) -> None:
    done = sum(tally.inputs for tally in tallies.values())
    at = ", ".join(
        f"{plan.names[target]} {number:,}"
        for target, number in (worker.place for worker in workers if not worker.is_done)
    )
    failed = sum(tally.failed for tally in tallies.values())
    line = f"{seconds:5.0f} s, {done:,} of {sum(plan.counts):,} inputs, {failed} failed, now at {at}"
    sys.stderr.write(f"\r{line:<110}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()
