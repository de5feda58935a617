"""What many worlds met of all that there is: branches, and pairs of message and state, of record and mix (met.py).

The worlds run in processes of their own (covered.py).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

from agvent.sim.covered import Found, Possible
from agvent.sim.scenario import Scenario

BRANCHES: Final = "branches"

SHOWN: Final = 8
"""So many columns of a row are named; of more, their number."""


class Coverage:
    """What was met, by table: branches, or pairs as (row, column)."""

    def __init__(self) -> None:
        self.all: dict[str, set[tuple[str, str]]] = {}
        self.met: dict[str, set[tuple[str, str]]] = {}
        self.runs = 0

    def expect(self, possible: Possible) -> None:
        """This can be met."""
        self.all = _by_table(possible)

    def add(self, found: Found) -> int:
        """What one world met; gives how much of that is new."""
        self.runs += 1
        count = 0
        for table, few in _by_table(found).items():
            known = self.met.setdefault(table, set())
            new = few & self.all.get(table, set()) - known
            known |= new
            count += len(new)
        return count

    def never(self, table: str) -> dict[str, list[str]]:
        """What was never met: the columns of each row."""
        rows: dict[str, list[str]] = {}
        for row, column in sorted(self.all[table] - self.met.get(table, set())):
            rows.setdefault(row, []).append(column)
        return rows

    def report(self) -> str:
        """For people: how much of each table, and what never."""
        lines = []
        for table, every in self.all.items():
            met = len(self.met.get(table, ()))
            lines.append(f"{table}: {met:,} of {len(every):,} met ({met / len(every):.1%})")
            columns = len({column for _, column in every})
            for row, few in self.never(table).items():
                many = "with anything" if len(few) == columns else f"with {len(few)} of {columns}"
                shown = few if table == BRANCHES or len(few) <= SHOWN else [many]
                lines.append(f"  never {row}: {', '.join(shown)}")
        return "\n".join(lines)

    def summary(self) -> dict[str, dict[str, object]]:
        """For programs: of each table how much was met, and what never."""
        return {
            table: {"met": len(self.met.get(table, ())), "all": len(every), "never": self.never(table)}
            for table, every in self.all.items()
        }


def _by_table(what: Possible | Found) -> dict[str, set[tuple[str, str]]]:
    """Branches by their files, and pairs by their tables."""
    tables: dict[str, set[tuple[str, str]]] = {BRANCHES: set()}
    for branch in what.branches:
        file, _, place = branch.partition(":")
        tables[BRANCHES].add((file, place))
    for table, row, column in what.pairs:
        tables.setdefault(table, set()).add((row, column))
    return tables


class Worker:
    """A process that runs worlds, one after another."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.possible = msgspec.json.decode(self._line(), type=Possible)

    def run(self, scenario: Scenario) -> Found:
        """What it met that is new in this process."""
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(scenario) + b"\n")
        self.process.stdin.flush()
        return msgspec.json.decode(self._line(), type=Found)

    def _line(self) -> bytes:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the process that runs worlds ended with {self.process.wait()}"
        return line


@contextmanager
def _started() -> Iterator[Worker]:
    command = [sys.executable, "-m", "agvent.sim.covered"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Worker(process)
        assert process.stdin is not None
        process.stdin.close()


def covered(
    coverage: Coverage, draw: Callable[[], Scenario | None], *, jobs: int
) -> Iterator[tuple[Scenario, Found, int]]:
    """Runs the scenarios that are drawn, one after another, until there is none; each with how much it met for the
    first time. The next is drawn when the one before it has been taken in."""
    with ExitStack() as stack:
        workers = [stack.enter_context(_started()) for _ in range(jobs)]
        coverage.expect(workers[0].possible)
        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        running: dict[Future[Found], tuple[Worker, Scenario]] = {}
        while True:
            while workers and (scenario := draw()) is not None:
                worker = workers.pop()
                running[pool.submit(worker.run, scenario)] = (worker, scenario)
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                worker, scenario = running.pop(future)
                workers.append(worker)
                found = future.result()
                yield scenario, found, coverage.add(found)
