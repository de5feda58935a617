"""Turns at the workers: one queue for each principal."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from agvent.sandbox.answer_cache import AnswerCache
from agvent.sandbox.principal_queues import PrincipalQueues


def test_a_principal_holds_one_worker() -> None:
    """While its first turn lasts its second waits, and another principal's runs."""
    queues, release, order = PrincipalQueues(2), threading.Event(), list[str]()

    def slow() -> None:
        release.wait(10)
        order.append("eve 1")

    first = queues.submit("eve", slow)
    second = queues.submit("eve", lambda: order.append("eve 2"))
    queues.submit("ann", lambda: order.append("ann")).result(10)
    assert (order, second.done()) == (["ann"], False)
    release.set()
    first.result(10)
    second.result(10)
    assert order == ["ann", "eve 1", "eve 2"]
    queues.close()


def test_queues_take_turns() -> None:
    """With one worker, a queue that has many turns goes to the end of the line after each."""
    queues, release, order = PrincipalQueues(1), threading.Event(), list[str]()

    def begin() -> None:
        release.wait(10)

    def turn(name: str) -> Callable[[], None]:
        return lambda: order.append(name)

    done = [queues.submit("begin", begin), *(queues.submit(name, turn(name)) for name in ("eve", "eve", "eve", "ann"))]
    release.set()
    for one in done:
        one.result(10)
    assert order == ["eve", "ann", "eve", "eve"]
    queues.close()


def test_a_turn_that_fails_is_known_to_who_waits() -> None:
    """And the queue goes on."""
    queues = PrincipalQueues(1)

    def fail() -> None:
        raise IndexError

    failed = queues.submit("eve", fail)
    with pytest.raises(IndexError):
        failed.result(10)
    queues.submit("eve", lambda: None).result(10)
    queues.close()


def test_the_latest_answers_are_kept() -> None:
    """At least half of the size, at most all of it, by number and by bytes."""
    kept = AnswerCache(4)
    for number in range(6):
        kept.put(bytes([number]), number)
    assert [kept.get(bytes([number])) for number in range(6)] == [None, None, 2, 3, 4, 5]
    kept = AnswerCache(100, 400)
    for number in range(6):
        kept.put(bytes([number]), number, 100)
    assert [kept.get(bytes([number])) for number in range(6)] == [None, None, 2, 3, 4, 5]
