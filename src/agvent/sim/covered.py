"""A process that runs worlds with probes, and says what each met that no world before it had met here.

    python -m agvent.sim.covered

It prints what there is to meet, then reads scenarios and prints a line for each, all as JSON. It is a process of its
own because probes.py must come before the modules that it probes.
"""

from __future__ import annotations

import gc
import sys
from typing import Final

import msgspec

from agvent.sim import probes
from agvent.sim.scenario import FAULTS, MIXES, SWARM, Scenario

SPRUNG: Final = ("trap_cut", "trap_crash")
"""What traps come to."""


class Possible(msgspec.Struct):
    """Everything that can be met."""

    branches: list[str]
    pairs: list[tuple[str, str, str]]


class Found(msgspec.Struct):
    """What a world met for the first time in this process, and what was wrong with it."""

    violations: tuple[str, ...]
    branches: list[str]
    pairs: list[tuple[str, str, str]]


def main() -> None:
    probes.install()
    from agvent.sim.met import Met, Pair, possible  # noqa: PLC0415 - after the probes
    from agvent.sim.run import crash_of, judged, simulated  # noqa: PLC0415

    seen: set[Pair] = set()
    seen_branches: set[int] = set()

    def found_in(scenario: Scenario) -> Found:
        met, happened = Met(), {}
        try:
            world = simulated(scenario, met=met)
            violations, happened = judged(scenario, world).violations, world.history.faults
        except Exception as error:  # noqa: BLE001 - whatever a broker does not take
            violations = (crash_of(error),)
        pairs, branches = met.all_of(scenario, happened) - seen, probes.met - seen_branches
        seen.update(pairs)
        seen_branches.update(branches)
        return Found(violations, [probes.BRANCHES[number] for number in sorted(branches)], sorted(pairs))

    _say(Possible(probes.BRANCHES, sorted(possible([*MIXES, SWARM], [*FAULTS, *SPRUNG]))))
    gc.collect()
    gc.freeze()
    gc.disable()
    for line in sys.stdin.buffer:
        _say(found_in(msgspec.json.decode(line, type=Scenario)))
        gc.collect()


def _say(what: Possible | Found) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(what) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
