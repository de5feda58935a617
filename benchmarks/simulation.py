"""What a run of the simulator costs: steps per second of one core, CPU a run, and where the time goes.

    python benchmarks/simulation.py --seeds 100
    python benchmarks/simulation.py --seeds 100 --against HEAD~5
    python benchmarks/simulation.py --page        also into docs/performance.md

A run is one world with its judges, once; `agvent sim` runs each seed twice. A step is one call of a broker. Every seed
runs in a process that has run another one before, and all time is that process's CPU time.

With --against another commit is checked out into a folder that is removed at the end. The same seeds run on both, each
seed on one right after the other, so that what else the machine does falls on both alike. Compare their ratio; two
figures from two invocations differ by more than most changes make. A seed whose world went another way there is
counted: its steps are not the same work.

The shares come from looking at the stack every few milliseconds of CPU time, and each look counts for one part:

    judges     what looks at a run: checkers, records of it, the brokers' own invariants
    brokers    steps of brokers, and their start
    clients    sessions
    links      ends of links and frames
    journals   writing and reading what brokers have on disk
    engine     the rest: clock, network, faults, what clients do
"""

from __future__ import annotations

import argparse
import filecmp
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, Self

import msgspec

from page import made_by, replace_block, short, table

ROOT: Final = Path(__file__).parent.parent
PARTS: Final = ("judges", "brokers", "clients", "links", "journals", "engine")
LOOK_S: Final = 0.004
"""CPU time between two looks at the stack."""

ENGINE: Final = frozenset(
    {
        "agvents", "bounds", "couriers", "disk", "doings", "endings", "faults", "machine", "moments", "network",
        "nodes", "plan", "priced", "run", "scenario", "topology", "trace", "traps", "workload", "world",
    }
)  # fmt: skip
"""The files of agvent/sim that make a world go. All others judge it."""


class CostOfRun(msgspec.Struct, frozen=True):
    """One seed on one commit."""

    cpu_s: float
    steps: int
    digest: str
    looks: dict[str, int]


class CostOfRuns(msgspec.Struct):
    """All seeds on one commit."""

    commit: str
    cpu_s: float = 0.0
    steps: int = 0
    runs: int = 0
    looks: dict[str, int] = {}

    def add(self, run: CostOfRun) -> None:
        self.cpu_s += run.cpu_s
        self.steps += run.steps
        self.runs += 1
        for part, count in run.looks.items():
            self.looks[part] = self.looks.get(part, 0) + count

    @property
    def steps_per_s(self) -> float:
        return self.steps / self.cpu_s

    @property
    def ms_per_run(self) -> float:
        return 1_000 * self.cpu_s / self.runs

    def share(self, part: str) -> float:
        return self.looks.get(part, 0) / max(sum(self.looks.values()), 1)

    def row(self) -> dict[str, object]:
        shares = {part: round(self.share(part), 3) for part in PARTS}
        return {
            "commit": self.commit,
            "runs": self.runs,
            "steps": self.steps,
            "steps_per_s": round(self.steps_per_s),
            "cpu_ms_per_run": round(self.ms_per_run, 1),
            "shares": shares,
        }


# In the process that runs worlds


def part_of(frame: FrameType | None) -> str:
    """What a stack is at work for: from the inside, a link or a journal whoever uses it, then a judge whatever it
    calls, then a broker or a session."""
    found = "engine"
    while frame is not None:
        room, _, file = frame.f_code.co_filename.rpartition("/agvent/")[2].partition("/")
        if room == "store":
            return "journals"
        if room == "wire" and file == "link.py":
            return "links"
        if room == "broker":
            if frame.f_code.co_name == "check":
                return "judges"
            found = "brokers"
        elif room == "session":
            found = "clients"
        elif room == "sim" and file.removesuffix(".py") not in ENGINE:
            return "judges"
        frame = frame.f_back
    return found


def work() -> None:
    """Runs the seeds that come in, one at a time, and says what each cost."""
    from agvent.sim.run import run  # noqa: PLC0415 - of the commit that is measured
    from agvent.sim.scenario import scenario_of  # noqa: PLC0415

    looks: Counter[str] = Counter()
    signal.signal(signal.SIGPROF, lambda _signal, frame: looks.update((part_of(frame),)))
    run(scenario_of(1))  # what the first run of a process alone has to do
    gc.collect()
    gc.freeze()
    gc.disable()
    for line in sys.stdin:
        looks.clear()
        signal.setitimer(signal.ITIMER_PROF, LOOK_S, LOOK_S)
        start = time.process_time()
        verdict = run(scenario_of(int(line)))
        gc.collect()
        cpu_s = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        cost = CostOfRun(cpu_s, verdict.steps, verdict.digest, dict(looks))
        sys.stdout.write(f"{msgspec.json.encode(cost).decode()}\n")
        sys.stdout.flush()


# In the process that measures


class Worker:
    """A process that runs worlds of one source tree."""

    def __init__(self, tree: Path) -> None:
        paths = os.pathsep.join(map(str, (tree / "src", ROOT / "benchmarks")))
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--work"],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def run(self, seed: int) -> CostOfRun:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"error: the process ended at seed {seed}")
        return msgspec.json.decode(line, type=CostOfRun)


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """A commit of this project in a folder of its own, with its matcher compiled."""
    with tempfile.TemporaryDirectory(prefix="agvent-simulation-") as folder:
        tree = Path(folder, "tree")
        git("worktree", "add", "--detach", str(tree), commit)
        try:
            if not _took_kernels(tree):
                environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
                subprocess.run([sys.executable, "-m", "agvent.matching.prepare"], env=environment, check=True)
            yield tree
        finally:
            git("worktree", "remove", "--force", str(tree))


def _took_kernels(tree: Path) -> bool:
    """Copies the compiled kernels of this source if they are those of another. Numba knows them by the times of their
    files; a kernel may call one of another file, so all files have to be the same."""
    own, other = (top / "src" / "agvent" / "matching" for top in (ROOT, tree))
    files = [path.relative_to(own) for path in own.rglob("*.py")]
    _, differing, missing = filecmp.cmpfiles(own, other, list(map(str, files)), shallow=False)
    if differing or missing:
        return False
    for file in files:
        shutil.copystat(own / file, other / file)
    for cache in own.rglob("__pycache__"):
        shutil.copytree(cache, other / cache.relative_to(own), dirs_exist_ok=True)
    return True


def git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"error: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def measure(seeds: Sequence[int], trees: dict[str, Path]) -> tuple[list[CostOfRuns], int]:
    """Each seed on each tree, the first of them in turn; and how many worlds differed."""
    costs = [CostOfRuns(commit) for commit in trees]
    differing = 0
    with ExitStack() as stack:
        workers = [stack.enter_context(Worker(tree)) for tree in trees.values()]
        for seed in seeds:
            order = range(len(workers)) if seed % 2 else range(len(workers) - 1, -1, -1)
            runs = {at: workers[at].run(seed) for at in order}
            for at, run in runs.items():
                costs[at].add(run)
            differing += len({run.digest for run in runs.values()}) > 1
    return costs, differing


def shown(costs: Sequence[CostOfRuns], differing: int) -> str:
    """The table, and the ratio of this source to the other commit."""
    headings = ["", "steps/s", "CPU ms a run", *PARTS]
    rows = [
        [
            one.commit,
            f"**{short(one.steps_per_s)}**",
            f"{one.ms_per_run:.0f}",
            *(f"{one.share(part):.0%}" for part in PARTS),
        ]
        for one in costs
    ]
    lines = [table(headings, rows)]
    if len(costs) > 1:
        here, there = costs
        ratio = here.steps_per_s / there.steps_per_s
        lines.append(f"Here {ratio:.2f} times the steps/s of {there.commit}; {differing} of {here.runs} worlds differ.")
    return "\n\n".join(lines)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seeds", type=int, default=100, metavar="K", help="how many seeds to run (100)")
    ask.add_argument("--first-seed", type=int, default=0, metavar="N", help="the first of them (0)")
    ask.add_argument("--against", metavar="REV", help="run another commit too, and print the ratio")
    ask.add_argument("--json", action="store_true", help="print one JSON object")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md")
    ask.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.work:
        work()
        return
    with ExitStack() as stack:
        trees = {"here": ROOT}
        if given.against:
            commit = git("rev-parse", "--short", given.against)
            trees[commit] = stack.enter_context(checked_out(commit))
        costs, differing = measure(range(given.first_seed, given.first_seed + given.seeds), trees)
    if given.json:
        ratio = costs[0].steps_per_s / costs[1].steps_per_s if given.against else None
        found = {"costs": [one.row() for one in costs], "ratio": ratio, "differing": differing}
        print(msgspec.json.encode(found).decode())
    else:
        print(shown(costs, differing))
    if given.page:
        command = " ".join(["python benchmarks/simulation.py", *sys.argv[1:]])
        replace_block("simulation", f"{shown(costs, differing)}\n\n{made_by(command)}")


if __name__ == "__main__":
    main()
