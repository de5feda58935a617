"""What a run of the simulator costs: the figures are of the worlds that they say they are of."""

from __future__ import annotations

import simulation
from simulation import ENGINE, PARTS, ROOT, measure


def test_each_seed_runs_on_each_tree_and_goes_the_same_way() -> None:
    """Two processes of one source, so that no world differs; every look at a stack is counted for a part."""
    [one, other], differing = measure(range(2), {"here": ROOT, "again": ROOT})
    assert (one.runs, one.steps, differing) == (2, other.steps, 0)
    assert one.steps > 0
    assert one.steps_per_s > 0
    assert one.looks.keys() <= set(PARTS)


def test_the_engine_is_of_files_that_are_there() -> None:
    assert {path.stem for path in (ROOT / "src" / "agvent" / "sim").glob("*.py")} >= ENGINE


def test_the_ratio_stands_under_the_table() -> None:
    """Of this source to the other commit, with how many worlds are not the same."""
    here, there = simulation.CostOfRuns("here"), simulation.CostOfRuns("abc")
    here.add(simulation.CostOfRun(cpu_s=1.0, steps=3_000, digest="a", looks={"judges": 1, "brokers": 3}))
    there.add(simulation.CostOfRun(cpu_s=2.0, steps=3_000, digest="b", looks={}))
    assert simulation.shown([here, there], 1) == (
        "|  | steps/s | CPU ms a run | judges | brokers | clients | links | journals | engine |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
        "| here | **3k** | 1000 | 25% | 75% | 0% | 0% | 0% | 0% |\n"
        "| abc | **1.5k** | 2000 | 0% | 0% | 0% | 0% | 0% | 0% |\n\n"
        "Here 2.00 times the steps/s of abc; 1 of 1 worlds differ."
    )
