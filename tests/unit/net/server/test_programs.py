"""What a broker asks of its sandbox host at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agvent.agents.execution.sandbox import Arrival, Task
from agvent.agents.execution.trusted_sandbox import TrustedSandbox
from agvent.agents.travel.stop import Decision, Stop
from agvent.net.server.programs import answers_of
from agvent.wire.parts import Answered, BehaviourCall
from tests.couriers import Everywhere, stop
from tests.publishing_house import Book
from tests.sandboxes import booked, trusted


class Noting(TrustedSandbox):
    """Notes how many tasks and stops each request had."""

    def __init__(self, inner: TrustedSandbox) -> None:
        super().__init__(inner.programs, inner.keys)
        self.requests: list[tuple[str, int]] = []

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        self.requests.append(("run", len(tasks)))
        return super().run(tasks)

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        self.requests.append(("route", len(stops)))
        return super().route(stops)


def test_a_host_is_asked_once_for_each_sort_of_work_there_is() -> None:
    """Answers come in the order of the work; for what there is none of nothing is asked."""
    host = Noting(trusted(Book, Everywhere))
    call = BehaviourCall("wholesale_price", (1, "Oslo"))
    task, way, arrival = Task("house", booked(), (call,)), stop(Everywhere()), Arrival("house", booked(), "ann", {})
    run, route, arrived = host.run([task]), host.route([way]), host.arrive(arrival)
    cases: tuple[tuple[list[Task | Arrival | Stop], list[Any], list[tuple[str, int]]], ...] = (
        ([way, task, way], [*route, *run, *route], [("run", 1), ("route", 2)]),
        ([way], route, [("route", 1)]),
        ([task], run, [("run", 1)]),
        ([arrival], [arrived], []),
    )
    for work, answers, requests in cases:
        host.requests.clear()
        assert (answers_of(host, work), host.requests) == (answers, requests)
