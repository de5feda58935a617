"""The long run: every target, on two processes, with a line of progress and a table at the end.

    python -m tests.fuzz [--target NAME ...] [--inputs N] [--seconds S] [--seed SEED] [--page]
    python -m tests.fuzz --target NAME --seed SEED --number N

The second tries one input again and prints it. Inputs that fail are saved in tests/fuzz/found/, which the tests replay.
"""

from __future__ import annotations

import argparse
import multiprocessing
import multiprocessing.connection
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from page import machine, replace_block, table
from tests.fuzz.run import Finding, Tally, input_of, kind_of, run, save, tried
from tests.fuzz.targets import TARGETS

PAGE: Final = Path(__file__).parents[2] / "docs" / "reliability.md"
POLL_S: Final = 1.0
QUIET_S: Final = 30.0
"""Seconds between lines of progress where nobody watches a terminal."""

STUCK_S: Final = 120.0
"""A process that stays this long at one input is ended, and the input is a finding."""


class Plan:
    """What one run tries: of each target the numbers up to its part of the inputs, for its part of the seconds."""

    def __init__(self, names: Sequence[str], *, inputs: int, seconds: float, seed: int, processes: int) -> None:
        self.names = names
        self.seed = seed
        self.processes = processes
        whole = sum(TARGETS[name].share for name in names)
        self.counts = [inputs * TARGETS[name].share // whole for name in names]
        self.seconds = [seconds * TARGETS[name].share / whole for name in names]

    def numbers(self, target: int, process: int) -> Iterator[int]:
        until = time.monotonic() + self.seconds[target]
        for number in range(process, self.counts[target], self.processes):
            if time.monotonic() > until:
                return
            yield number


def work(plan: Plan, process: int, place: Any, out: multiprocessing.connection.Connection) -> None:
    """One process's part of every target. `place` has the target and number it is at."""
    for target, name in enumerate(plan.names):
        run(name, plan.seed, range(64))  # compiles, and fills what is made once

        def progress(number: int, target: int = target) -> None:
            place[0], place[1] = target, number

        out.send(run(name, plan.seed, plan.numbers(target, process), progress=progress))
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
            return self._lost(f"the process ended with {self.process.exitcode}") if self.process.exitcode else None
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
        f"{plan.names[target]} {number:,} of {plan.counts[target]:,}"
        for target, number in (worker.place for worker in workers if not worker.is_done)
    )
    failed = sum(tally.failed for tally in tallies.values())
    line = f"{seconds:5.0f} s, {done:,} inputs of finished targets, {failed} failed, now at {at}"
    sys.stderr.write(f"\r{line:<110}" if sys.stderr.isatty() else f"{line}\n")
    sys.stderr.flush()


def summary(tallies: dict[str, Tally]) -> str:
    rows = []
    for name, tally in tallies.items():
        mean_us = 1e6 * tally.cpu_s / max(1, tally.inputs - tally.failed)
        cells = [f"{tally.inputs:,}", f"{tally.accepted / max(1, tally.inputs):.0%}", f"{mean_us:.0f}"]
        cells += [f"{1e3 * tally.slowest_s:.1f}", f"{tally.slowest:.0%}", f"{tally.failed:,}"]
        rows.append([name.replace("_", " "), *cells])
    inputs, failed = (sum(getattr(tally, key) for tally in tallies.values()) for key in ("inputs", "failed"))
    rows.append(["**all**", f"**{inputs:,}**", "", "", "", "", f"{failed:,}"])
    headings = ["target", "inputs", "accepted", "mean µs", "slowest ms", "nearest to its bound", "failed"]
    return table(headings, rows)


def report(finding: Finding) -> None:
    """Prints a finding with its input, and saves it."""
    given = input_of(finding.target, finding.seed, finding.number)
    path = save(finding.target, given)
    command = f"python -m tests.fuzz --target {finding.target} --seed {finding.seed} --number {finding.number}"
    sys.stdout.write(f"\n{finding.target}: {finding.kind}\n{finding.report}\ninput: {given!r}"[:3000])
    sys.stdout.write(f"\nsaved as {path}\nagain: {command}\n")


def try_one(name: str, seed: int, number: int) -> int:
    given = input_of(name, seed, number)
    sys.stdout.write(f"{given!r}\n")
    try:
        accepted, took = tried(TARGETS[name], given)
    except Exception as error:
        sys.stdout.write(f"failed: {kind_of(error)}\n")
        raise
    sys.stdout.write(f"{'accepted' if accepted else 'refused'}, {1e3 * took:.2f} ms\n")
    return 0


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--target", choices=TARGETS, action="append", help="only this one; may be repeated")
    ask.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together")
    ask.add_argument("--seconds", type=float, default=3_600, help="at most, of all targets together")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--processes", type=int, default=2)
    ask.add_argument("--number", type=int, help="try this one input of the target")
    ask.add_argument("--page", action="store_true", help="also write the table into docs/reliability.md")
    given = ask.parse_args()
    names = given.target or list(TARGETS)
    if given.number is not None:
        return try_one(names[0], given.seed, given.number)
    plan = Plan(names, inputs=given.inputs, seconds=given.seconds, seed=given.seed, processes=given.processes)
    tallies = run_all(plan)
    findings = [finding for tally in tallies.values() for finding in tally.findings]
    for finding in findings:
        report(finding)
    made = summary(tallies)
    sys.stdout.write(f"\n{made}\n")
    if given.page:
        command = f"python -m tests.fuzz {' '.join(argument for argument in sys.argv[1:] if argument != '--page')}"
        replace_block("fuzz", f"{made}\n\nMade by `{command.strip()}` on {machine()}.", page=PAGE)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
