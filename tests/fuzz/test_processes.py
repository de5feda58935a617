"""The long run: the processes share the inputs, and one that dies is seen."""

from __future__ import annotations

from tests.fuzz.__main__ import summary
from tests.fuzz.processes import TURN_INPUTS, Plan, Turns, Worker, run_all
from tests.fuzz.run import Tally
from tests.fuzz.targets import TARGETS


def plan(inputs: int, seconds: float = 600) -> Plan:
    return Plan(["integer", "topic"], inputs=inputs, seconds=seconds, seed=2, processes=2)


def test_every_number_is_tried_once() -> None:
    """The processes' numbers together are those of the target's part."""
    made = plan(100)
    for target in (0, 1):
        assert sorted([*made.numbers(target, 0), *made.numbers(target, 1)]) == list(range(50))


def test_a_target_ends_when_its_seconds_are_over() -> None:
    """It has the turn it is in, and no other."""
    turns = Turns(plan(10**9, seconds=1e-9), 0, 0)
    assert not turns.is_over
    assert turns.take([0, 0]).inputs == TURN_INPUTS * TARGETS["integer"].share
    assert turns.is_over


def test_a_turn_goes_on_where_the_last_ended() -> None:
    """Each number has one turn, and the place is told."""
    made, place = plan(9_000), [0, 0]
    turns = Turns(made, 1, 1)
    first, second, third = (turns.take(place).inputs for _ in range(3))
    assert (first, second, third, turns.is_over) == (2_000, 250, 0, True)
    assert place == [1, 4_499]


def test_processes_give_one_tally_for_each_target() -> None:
    """All inputs are in it, and it makes a table."""
    tallies = run_all(plan(600))
    assert {name: (tally.inputs, tally.findings) for name, tally in tallies.items()} == {
        "integer": (300, []),
        "topic": (300, []),
    }
    assert "| **all** | **600** |" in summary(tallies)


def test_a_process_that_dies_is_a_finding_at_its_input() -> None:
    """A crash of compiled code leaves no exception: the number it was at is what is known."""
    worker = Worker(plan(10**9), 0)
    while not worker.place[1]:
        assert worker.poll() is None
    worker.process.kill()
    lost: Tally | None = None
    while not worker.is_done:
        lost = worker.poll() or lost
    assert lost is not None
    [finding] = lost.findings
    assert (finding.target, finding.number, finding.kind) == (
        "integer",
        worker.place[1],
        "the process died of signal 9",
    )
