"""What a queue lets go becomes notices that say what happened."""

from __future__ import annotations

import pytest

from agvent.broker.tables.move_state import MoveState, expected
from agvent.broker.tables.queues import Queue
from agvent.wire.broker_messages import Passed
from agvent.wire.client_messages import Deliver, Gap


def deliver(number: int) -> Deliver:
    return Deliver(
        number=number, after=0, behind=0, publisher="p", sequence=number, fast=False, event=b"{}", subscriptions=("s",)
    )


def lost_home(number: int) -> Gap:
    return Gap(
        number=number,
        after=0,
        behind=0,
        publisher="",
        first=0,
        last=0,
        fast=False,
        reason="lost_disk",
        subscriptions=("s", "t"),
    )


def let_go_of_queue(waiting: list[Deliver | Gap]) -> list[Deliver | Gap]:
    queue = Queue(number=0, received=0, waiting={}, expires={})
    for one in waiting:
        queue.add(one, 0)
    queue.let_go(len(waiting), "quota", fast=False)
    return list(queue.waiting.values())


def let_go_of_move(waiting: list[Deliver | Gap]) -> list[Deliver | Gap]:
    moving: MoveState = expected("c")
    moving.wait([Passed(one, 0) for one in waiting])
    moving.let_go(len(waiting), "quota")
    return [passed.delivery for passed in moving.waiting]


@pytest.mark.parametrize("let_go", [let_go_of_queue, let_go_of_move])
def test_a_notice_that_is_let_go_keeps_its_reason(let_go: object) -> None:
    """Events that are let go are named by their publisher; a home that was lost is not a full queue."""
    assert callable(let_go)
    found = let_go([deliver(1), lost_home(2), deliver(3)])
    told = {one.publisher: (one.reason, one.first, one.last, one.subscriptions) for one in found}
    assert told == {"": ("lost_disk", 0, 0, ("s", "t")), "p": ("quota", 1, 3, ("s",))}
