"""Hunting a mutant in a copy of the package: with the simulator, and what survives that with the tests."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
import time
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


def hunt(copy: SourceCopy, *, first_seed: int, seeds_max: int) -> Hunt:
    """What the simulator sees in these seeds."""
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
