"""The long run: the processes share the inputs, and one that dies is seen."""

from __future__ import annotations

from tests.fuzz.__main__ import summary
from tests.fuzz.processes import Plan, Worker, run_all
from tests.fuzz.run import Tally


def plan(inputs: int, seconds: float = 600) -> Plan:
    return Plan(["integer", "topic"], inputs=inputs, seconds=seconds, seed=2, processes=2)


def test_every_number_is_tried_once() -> None:
    """The processes' numbers together are those of the target's part."""
    made = plan(100)
    for target in (0, 1):
        assert sorted([*made.numbers(target, 0), *made.numbers(target, 1)]) == list(range(50))


def test_a_target_ends_when_its_seconds_are_over() -> None:
    assert list(plan(10**9, seconds=0).numbers(0, 0)) == []


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
