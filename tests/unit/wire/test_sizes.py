"""What is within the bounds of a client fits every message that a broker makes of it."""

from __future__ import annotations

from agvent import limits
from agvent.event import Budget
from agvent.wire.broker_messages import Copies, Journey, Travel
from agvent.wire.client_messages import Publish
from agvent.wire.parts import Answered, BehaviourCall, Entered, Publication, Target
from agvent.wire.sizes import TOO_MUCH, check_event, fitting, portions, size_of

FACE = "\U0001f600"  # four bytes of UTF-8


def test_the_largest_event_fits_the_messages_that_carry_it() -> None:
    """With the longest address, as many destinations as may be, answers, a paused program, homes and hops."""
    content = bytes(limits.EVENT_BYTES_MAX)
    to, names = FACE * limits.FILTER_CHARS_MAX, (FACE * 63,) * (limits.DESTINATION_CHARS_MAX // 64)
    check_event(content, to, names)
    publication = Publication("ada", 1, content, to, names, retried=((1, 2),) * limits.RETRIED_MAX)
    answers = tuple(Answered(BehaviourCall("f", (number,)), "x" * limits.ANSWER_BYTES_MAX) for number in range(100))
    targets = tuple(Target(f"{number:064}", 1 << 62, 1 << 62, 1 << 62) for number in range(1_024))
    passed = tuple(f"{number:064}" for number in range(limits.HOPS_MAX))
    trace = tuple((name, 1 << 48) for name in passed)
    entered = Entered("B1", 1, 1, fitting(answers))
    leg = Journey(
        path=(),
        origin="B1",
        to="B2",
        targets=targets,
        snapshot=bytes(limits.SNAPSHOT_BYTES_MAX),
        budget=Budget(),
        deadline=1,
        passed=passed,
    )
    for message in (
        Publish(publication),
        Copies(entered=entered, publication=publication, targets=targets, trace=trace, before=passed),
        Travel(entered=entered, publication=publication, journey=leg, trace=trace),
    ):
        assert size_of(message) <= limits.MESSAGE_BYTES_MAX


def test_answers_that_are_too_many_are_faults() -> None:
    """The first ones travel; of the others it is known that they were asked, as far as there is room to say so."""
    answers = tuple(Answered(BehaviourCall("f", (number,)), "x" * limits.ANSWER_BYTES_MAX) for number in range(20))
    kept = fitting(answers)
    assert kept == answers[:15] + tuple(Answered(one.call, None, TOO_MUCH) for one in answers[15:])
    assert fitting(answers[:15]) == answers[:15]
    long = tuple(Answered(BehaviourCall("f", (number, "x" * limits.FILTER_CHARS_MAX)), number) for number in range(20))
    assert fitting(long) == long[:15]


def test_parts_go_in_runs_that_fit() -> None:
    """In their order; one that is too large for any goes alone, and none is a run as well."""
    half, whole = "x" * (limits.PART_BYTES_MAX // 2), "x" * limits.PART_BYTES_MAX
    assert [len(run) for run in portions(["a", half, "b", half, "c", whole, "d"])] == [3, 2, 1, 1]
    assert list(portions([])) == [()]
