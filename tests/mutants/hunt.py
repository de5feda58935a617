"""Hunting a mutant in a copy of the package: with the simulator, and what survives that with the tests."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
import weakref
from typing import Final

import msgspec

from tests.mutants.catalogue import ROOT, SOURCE
from tests.mutants.results import Hunt, SuiteRun
from tests.mutants.source_copy import SourceCopy

MEMORY_BYTES_MAX: Final = 4 << 30
"""Of each process: a mutant that fills the memory is ended before the machine suffers. Without one it takes 0.2 GB."""

TESTS_S: Final = 3_600
"""The time of the tests, on a machine that others use too."""

TESTS: Final = ("tests/unit", "tests/property", "tests/sim")
PYTEST: Final = ("-x", "-q", "-p", "no:cacheprovider", "--ignore", "tests/unit/mutants")
FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


def limit_memory() -> None:
    """Bounds this process and those that it starts."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, hard))


def prepare_kernels() -> None:
    """Compiles the matcher in the source, so that no copy compiles it again."""
    environment = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    subprocess.run([sys.executable, "-m", "agvent.matching.prepare"], env=environment, check=True)


class Forks:
    """The process of a copy that forks for each hunt (forks.py). It ends with this object."""

    def __init__(self, copy: SourceCopy) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.forks"],
            cwd=copy.folder,
            env=copy.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        weakref.finalize(self, self._process.communicate)

    def hunt(self, first_seed: int, seeds_max: int) -> Hunt | None:
        """What a fork sees in these seeds; None if it would not see the mutant."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{first_seed} {seeds_max}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line and self._process.wait() == -signal.SIGINT:
            raise KeyboardInterrupt
        return msgspec.json.decode(line, type=Hunt) if line.strip() else None


_forks: weakref.WeakKeyDictionary[SourceCopy, Forks] = weakref.WeakKeyDictionary()


def hunt(copy: SourceCopy, *, first_seed: int, seeds_max: int) -> Hunt:
    """What the simulator sees in these seeds."""
    if copy not in _forks:
        _forks[copy] = Forks(copy)
    found = _forks[copy].hunt(first_seed, seeds_max)
    return found or hunt_alone(copy, first_seed=first_seed, seeds_max=seeds_max)


def hunt_alone(copy: SourceCopy, *, first_seed: int, seeds_max: int) -> Hunt:
    """The same in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.mutants.seeds", str(first_seed), str(seeds_max)],
        cwd=copy.folder,
        env=copy.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode == 0:
        return msgspec.json.decode(ran.stdout.splitlines()[-1], type=Hunt)
    if ran.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    if ran.returncode == -signal.SIGXCPU:
        return Hunt(seeds=0, cpu_s=0, checker="hang", violation="hang: a loop that no signal of Python ends")
    last = (ran.stderr.splitlines() or [f"exit code {ran.returncode}"])[-1]
    return Hunt(seeds=0, cpu_s=0, checker="crash", violation=f"crash: {last}")


def run_tests(copy: SourceCopy) -> SuiteRun:
    """The first test that fails. The examples that Hypothesis finds stay in the copy's folder."""
    printed = copy.folder / "tests.txt"
    start = time.monotonic()
    try:
        with printed.open("w") as out:
            code = subprocess.run(
                [sys.executable, "-m", "pytest", *PYTEST, *TESTS],
                cwd=ROOT,
                env={**copy.environment, "HYPOTHESIS_STORAGE_DIRECTORY": str(copy.folder / "hypothesis")},
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=TESTS_S,
                check=False,
            ).returncode
    except subprocess.TimeoutExpired:
        return SuiteRun(seconds=TESTS_S, is_cut=True)
    return SuiteRun(seconds=round(time.monotonic() - start, 1), failed=first_failed(code, printed.read_text()))


def first_failed(code: int, printed: str) -> str:
    """The name of the first test that failed, from pytest's exit code and what it printed."""
    if code == 0:
        return ""
    if named := FAILED.search(printed):
        return named[1]
    if code == 2:
        raise KeyboardInterrupt
    assert code == 1 or code < 0, f"pytest ended with {code}:\n{printed[-2000:]}"
    return f"pytest itself ended with {code}"  # it hung, or died with the mutant
