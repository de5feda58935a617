"""Coverage: what worlds met is counted, what they never met is said, and worlds that met something new are kept."""

from __future__ import annotations

from pathlib import Path
from random import Random

from agvent.sim.coverage import BRANCHES, Coverage, covered
from agvent.sim.guide import Guide, changed, keep, read_corpus
from agvent.sim.met import FAULTS_OF, MIXES_OF, PHASES, STATES, Met, Pair, phases_of
from agvent.sim.run import run, simulated
from agvent.sim.scenario import Scenario, scenario_of, swarm_of
from tests.sim.watched import Watched


def test_a_sweep_says_what_it_met_and_what_never() -> None:
    """Three worlds meet most branches, and there is something that they do not meet."""
    coverage, scenarios = Coverage(), iter([scenario_of(seed) for seed in (0, 1, 2)])
    runs = list(covered(coverage, lambda: next(scenarios, None), jobs=1))
    assert [(scenario.seed, found.violations) for scenario, found, _ in runs] == [(0, ()), (1, ()), (2, ())]
    assert [new > 0 for _, _, new in runs] == [True, True, True]
    assert coverage.all.keys() == {BRANCHES, STATES, MIXES_OF, FAULTS_OF, PHASES}
    assert 0.5 < len(coverage.met[BRANCHES]) / len(coverage.all[BRANCHES]) < 0.95
    assert "links" in coverage.never(MIXES_OF)["Copies"]
    assert ("Copies", "none") in coverage.met[MIXES_OF]
    report = coverage.report().splitlines()
    assert report[0].startswith("branches: ")
    assert any(line.startswith("  never broker/broker.py: ") for line in report)
    assert coverage.summary()[STATES]["met"] == len(coverage.met[STATES])


def test_counting_changes_nothing() -> None:
    """A run is the same with somebody who counts what it meets."""
    scenario, met = scenario_of(9), Met()
    assert simulated(scenario, met=met).digest.hexdigest() == run(scenario).digest
    pairs = met.all_of(scenario, ["crash"])
    assert {Pair(MIXES_OF, "Accepted", "swarm"), Pair(FAULTS_OF, "Copies", "crash")} <= pairs
    assert Pair(STATES, "Attach", "of nobody yet") in pairs


def test_a_phase_is_what_a_broker_is_busy_with() -> None:
    """Of a broker that has just crashed and come back, and of one whose link is cut."""
    world = Watched([("B1", "B2"), ("B2", "B3")])
    world.wait(5)
    assert [*phases_of(world.brokers["B1"])] == ["calm"]
    world.brokers["B1"].crash(with_disk=True)
    world.brokers["B1"].start()
    assert {"starting", "cut off", "syncing"} <= {*phases_of(world.brokers["B1"])}


def test_worlds_that_met_something_new_are_kept(tmp_path: Path) -> None:
    """A fifth of the seeds comes first; then seeds and changed worlds take turns. What met something new is kept."""
    guide, path = Guide(range(10)), tmp_path / "corpus.jsonl"
    drawn: list[Scenario] = []
    while (scenario := guide.draw()) is not None:
        drawn.append(scenario)
        if guide.learn(scenario, new=len(drawn) % 2):
            keep(path, scenario)
    assert [one == swarm_of(seed) for seed, one in enumerate(drawn)] == [True, True] + [True, False] * 4
    assert (guide.first.runs, guide.blind.runs, guide.guided.runs) == (2, 4, 4)
    assert guide.first.new + guide.blind.new + guide.guided.new == len(guide.corpus) == 5
    assert read_corpus(path) == guide.corpus
    again = Guide(range(10), read_corpus(path))
    assert [again.draw() for _ in range(5)] == guide.corpus


def test_a_changed_world_is_another_one_that_runs() -> None:
    """One or two draws are others, and every world that comes out is legal."""
    random = Random(3)
    for seed in range(4):
        world = swarm_of(seed)
        for _ in range(6):
            world = changed(world, random)
        assert world != swarm_of(seed)
        simulated(world)
    fields = {
        name
        for _ in range(100)
        for name in Scenario.__struct_fields__
        if getattr(changed(swarm_of(1), random), name) != getattr(swarm_of(1), name)
    }
    assert fields >= {"seed", "limits", "kinds", "workload", "machine"}
