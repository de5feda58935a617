"""The process of one hunt: runs seeds on the package below the current folder until one has a violation.

    python -m tests.mutants.seeds FIRST COUNT

A seed runs once, not twice as in `agvent sim`: a mutant that makes runs differ is to be seen by what it does.
"""

from __future__ import annotations

import gc
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

import agvent
from tests.mutants.results import Hunt

SEED_CPU_S: Final = 60
"""A seed that takes longer hangs. Without a mutant it takes a tenth of a second."""

HUNT_CPU_S: Final = 900
"""The time of a hunt, after which it has found nothing: mutants that make runs slow do not stop the others."""


class Hung(BaseException):
    """A seed took too long. Nothing in the package catches it."""


def hang(_signal: int, _frame: FrameType | None) -> None:
    raise Hung


def bound_time() -> None:
    """For one seed. The kernel ends the process if it is in a loop that Python's signals do not reach."""
    signal.setitimer(signal.ITIMER_PROF, SEED_CPU_S, 1)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + SEED_CPU_S + 5, hard))


def violation_of(seed: int) -> str:
    """The first violation of a seed's run, or nothing."""
    from agvent.sim.run import run  # noqa: PLC0415 - a mutant may be in what this imports
    from agvent.sim.scenario import scenario_of  # noqa: PLC0415

    bound_time()
    try:
        verdict = run(scenario_of(seed))
    except Hung:
        return f"hang: seed {seed} took more than {SEED_CPU_S} s"
    except Exception as error:  # noqa: BLE001 - whatever a mutant raises is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"crash: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return next(iter(verdict.violations), "")


def search(seeds: range) -> Hunt:
    """Runs the seeds up to the first violation. A world is garbage all at once, when its run is over."""
    import agvent.sim.run  # noqa: F401, PLC0415 - before what is there is frozen

    gc.collect()
    gc.freeze()
    gc.disable()
    start = time.process_time()
    tried = 0
    while tried < len(seeds) and time.process_time() - start < HUNT_CPU_S:
        violation = violation_of(seeds[tried])
        tried += 1
        if violation:
            checker = violation.partition(": ")[0]
            return Hunt(seeds=tried, cpu_s=_since(start), checker=checker, violation=violation)
        gc.collect()
    return Hunt(seeds=tried, cpu_s=_since(start), is_cut=tried < len(seeds))


def _since(start: float) -> float:
    return round(time.process_time() - start, 2)


def main() -> None:
    assert Path(agvent.__file__).is_relative_to(Path.cwd()), f"{agvent.__file__} is not the copy in {Path.cwd()}"
    first, count = map(int, sys.argv[1:])
    signal.signal(signal.SIGPROF, hang)
    sys.stdout.write(f"{msgspec.json.encode(search(range(first, first + count))).decode()}\n")


if __name__ == "__main__":
    main()
