"""Trying inputs: one, a stretch of them in this process, and the record of what went wrong.

An input is known by target, seed and number. Its CPU time is compared with the target's bound; one that is over is
timed twice more, because another process on the machine can make it look slow, and nothing can make it look quick. The
memory of the process at its peak is compared likewise.
"""

from __future__ import annotations

import hashlib
import resource
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

import msgspec

from tests.fuzz.target import MEMORY_BYTES_MAX, Input, Target
from tests.fuzz.targets import TARGETS

FOUND: Final = Path(__file__).parent / "found"
TIMINGS: Final = 3
PEAK_UNIT_BYTES: Final = 1 if sys.platform == "darwin" else 1024


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A defect: which input, and what came out. `kind` is the same for inputs that fail in the same place."""

    target: str
    seed: int
    number: int
    kind: str
    report: str


class Tally(msgspec.Struct, kw_only=True):
    """What became of a target's inputs. `slowest` is the largest part of its bound that one of them took."""

    target: str
    inputs: int = 0
    accepted: int = 0
    cpu_s: float = 0.0
    slowest_s: float = 0.0
    slowest: float = 0.0
    failed: int = 0
    findings: list[Finding] = []

    def add(self, other: Tally) -> None:
        """Takes in another process's part; of each kind of defect the first finding stays."""
        self.inputs += other.inputs
        self.accepted += other.accepted
        self.cpu_s += other.cpu_s
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.slowest = max(self.slowest, other.slowest)
        self.failed += other.failed
        known = {finding.kind for finding in self.findings}
        self.findings += [finding for finding in other.findings if finding.kind not in known]


def input_of(target: str, seed: int, number: int) -> Input:
    """The input of that number."""
    drawn: Input = TARGETS[target].draw(Random(f"{target}/{seed}/{number}"))
    return drawn


class Trial(NamedTuple):
    """Was the input accepted, what CPU time did it take, and what part of its bound is that?"""

    accepted: bool
    took_s: float
    part: float


def tried(target: Target, given: Input) -> Trial:
    """Raises what the check raises, and if it takes too long or too much memory."""
    peak = peak_bytes()
    accepted, took = timed(target, given)
    bound = target.bound_s(given, took)
    for _ in range(TIMINGS - 1):
        if took <= bound:
            break
        took = min(took, timed(target, given)[1])
    assert took <= bound, f"took {took:.3f} s, its bound is {bound:.3f} s"
    grew = peak_bytes() - peak
    assert grew <= MEMORY_BYTES_MAX, f"took {grew >> 20} MB, its bound is {MEMORY_BYTES_MAX >> 20} MB"
    return Trial(accepted, took, took / bound)


def timed(target: Target, given: Input) -> tuple[bool, float]:
    start = time.thread_time()
    accepted = target.check(given)
    return accepted, time.thread_time() - start


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT_BYTES


def run(name: str, seed: int, numbers: Iterable[int], *, progress: Callable[[int], Any] | None = None) -> Tally:
    """Tries inputs until the numbers end. `progress` is told each number before it is tried."""
    target = TARGETS[name]
    tally = Tally(target=name)
    kinds: set[str] = set()
    for number in numbers:
        if progress:
            progress(number)
        given = input_of(name, seed, number)
        tally.inputs += 1
        try:
            trial = tried(target, given)
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
            tally.failed += 1
            kind = kind_of(error)
            if kind not in kinds:
                kinds.add(kind)
                report = "".join(traceback.format_exception(error, limit=-4))
                tally.findings.append(Finding(target=name, seed=seed, number=number, kind=kind, report=report))
            continue
        tally.accepted += trial.accepted
        tally.cpu_s += trial.took_s
        tally.slowest_s = max(tally.slowest_s, trial.took_s)
        tally.slowest = max(tally.slowest, trial.part)
    return tally


def kind_of(error: Exception) -> str:
    """The error's type and the innermost function of the source it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "site-packages" not in frame.filename and "/lib/python" not in frame.filename]
    return f"{type(error).__name__} in {ours[-1].name}"


def save(name: str, given: Input, folder: Path = FOUND) -> Path:
    """Keeps an input as a case that the tests replay."""
    data = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
    path = folder / f"{name}-{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def saved(path: Path) -> tuple[str, Input]:
    """The target and input of a saved case; a target whose inputs are text gets text."""
    name = path.name.partition("-")[0]
    data = path.read_bytes()
    is_text = isinstance(input_of(name, 0, 0), str)
    return name, data.decode("utf-8", "surrogatepass") if is_text else data
