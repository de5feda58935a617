"""Trying inputs: one, a stretch of them in this process, and the record of what went wrong.

An input is known by target, seed and number. Its CPU time is compared with the target's bound; one that is over is
timed twice more, because another process on the machine can make it look slow, and nothing can make it look quick.
"""

from __future__ import annotations

import hashlib
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from tests.fuzz.targets import TARGETS, Input, Target

FOUND: Final = Path(__file__).parent / "found"
TIMINGS: Final = 3


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


def tried(target: Target, given: Input) -> tuple[bool, float]:
    """Was the input accepted, and what CPU time did it take? Raises what the check raises, and if it takes too long."""
    start = time.thread_time()
    accepted = target.check(given)
    took = time.thread_time() - start
    for _ in range(TIMINGS - 1):
        if took <= target.bound_s(given):
            break
        start = time.thread_time()
        target.check(given)
        took = min(took, time.thread_time() - start)
    assert took <= target.bound_s(given), f"took {took:.3f} s, its bound is {target.bound_s(given):.3f} s"
    return accepted, took


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
            accepted, took = tried(target, given)
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
            tally.failed += 1
            kind = kind_of(error)
            if kind not in kinds:
                kinds.add(kind)
                report = "".join(traceback.format_exception(error, limit=-4))
                tally.findings.append(Finding(target=name, seed=seed, number=number, kind=kind, report=report))
            continue
        tally.accepted += accepted
        tally.cpu_s += took
        tally.slowest_s = max(tally.slowest_s, took)
        tally.slowest = max(tally.slowest, took / target.bound_s(given))
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
