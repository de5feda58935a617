"""Seeds: those that find a bug if it comes back, and a tenth of `make sim`. A bug that a seed finds gets a line in
FOUND, or a small world in test_breaks.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from agvent.broker.broker import Broker
from agvent.sim.bounds import SMALLER
from agvent.sim.run import run
from agvent.sim.scenario import FAULTS, MIXES, SWARM, Scenario, scenario_of, swarm_of
from agvent.sim.sweep import run_twice
from agvent.sim.topology import TOPOLOGIES
from agvent.sim.workload import SWARMING
from tests.sim import undone

CHUNK = 20
FOUND: dict[str, tuple[Scenario, undone.Undo]] = {
    "a request that was superseded was said again after a break": (
        scenario_of(11, faults="partitions"),
        undone.says_again_what_was_superseded,
    ),
    "an event entered before its home had answered the advertisement": (
        scenario_of(2, faults="partitions"),
        undone.takes_no_answer_for_nobody,
    ),
    "a delivery that expired was never acknowledged": (
        scenario_of(2, faults="partitions"),
        undone.passes_over_what_expired,
    ),
    "copies for two homes went opposite ways round a ring": (
        scenario_of(59, topology="grid", faults="none"),
        undone.measures_to_the_microsecond,
    ),
    "a home's new incarnation was given the old one's predecessor": (
        scenario_of(4, faults="disks"),
        undone.goes_on_with_the_chain_of_a_lost_disk,
    ),
    "a copy went round a cycle for ever": (scenario_of(7, faults="members"), undone.goes_round),
    "a broker joined through one that had left": (scenario_of(20, faults="members"), undone.joins_through_anybody),
}
"""What seeds found: a seed that finds it again where its fix is undone. A world changes with the workload and the
faults, so this need not be the seed that found it first. Bugs that a small world shows are in test_breaks.py."""


@pytest.mark.parametrize(("scenario", "undo"), FOUND.values(), ids=FOUND.keys())
def test_what_a_seed_once_found_stays_mended(scenario: Scenario, undo: undone.Undo) -> None:
    """Its seed runs without a violation, twice the same way; with the fix undone it has one."""
    assert run_twice(scenario).violations == ()
    with pytest.MonkeyPatch.context() as patch:
        undo(patch)
        assert run_twice(scenario).violations != ()


@pytest.mark.parametrize("first", range(10_000, 10_200, CHUNK))
def test_seeds_have_no_violation(first: int) -> None:
    """Every seed runs without a violation, twice the same way, over all topologies and mixes in turn."""
    verdicts = [run_twice(scenario_of(seed)) for seed in range(first, first + CHUNK)]
    assert [(v.scenario.command(), v.violations) for v in verdicts if v.violations] == []


def test_a_run_that_crashes_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what was raised and where, and the other runs go on."""

    def crash(broker: Broker, *_: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(Broker, "step", crash)
    [violation] = run_twice(scenario_of(1)).violations
    assert re.fullmatch(r"crash: ValueError: no such thing \(test_seeds\.py:\d+\)", violation)


def test_all_topologies_and_mixes_have_their_turn() -> None:
    """Every fourth of a row of seeds meets a topology with a mix; the others are of the swarm, which draws both."""
    count = 4 * len(TOPOLOGIES) * len(MIXES)
    scenarios = [scenario_of(seed) for seed in range(count)]
    ordinary = [one for one in scenarios if one.faults != SWARM]
    assert {(one.topology, one.faults) for one in ordinary} == {(t, m) for t in TOPOLOGIES for m in MIXES}
    assert len(ordinary) == count // 4


def test_the_swarm_draws_everything() -> None:
    """Two hundred worlds have every fault, every doing, every small limit and every kind of machine."""
    scenarios = [swarm_of(seed) for seed in range(200)]
    assert {kind for one in scenarios for kind in one.kinds} == FAULTS.keys()
    assert {doing for one in scenarios for doing in one.workload.doings} == SWARMING.keys()
    assert {name for one in scenarios for name in one.limits} >= SMALLER.keys()
    assert len({one.machine for one in scenarios}) > 20


def test_a_scenario_is_replayed_by_its_command() -> None:
    """The options in a scenario's command make the same scenario again."""
    for seed in range(40):
        words = scenario_of(seed).command().split()
        options = dict(zip(words[2:8:2], words[3:8:2], strict=True))
        assert scenario_of(
            int(options["--seed"]), topology=options["--topology"], faults=options["--faults"]
        ) == scenario_of(seed)


def test_a_run_does_not_depend_on_hashing() -> None:
    """The same seed goes the same way in processes whose strings hash differently."""
    imports = "from agvent.sim.scenario import scenario_of; from agvent.sim.run import run"
    program = f"{imports}; print(run(scenario_of(39)).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert digests == {run(scenario_of(39)).digest + "\n"}
