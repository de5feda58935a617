"""Subscriptions on attributes and behaviours (seed 002, figure 6): oracle and index, in both sandboxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

import pytest

from agvent.agents.authoring.flatten import program_of
from agvent.agents.execution.answers import Answers
from agvent.agents.execution.ask import AskedAgvent, asked
from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Quarantined, Sandbox, Task
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.travel.stop import Decision, Stop
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.sandbox.host import SandboxHost
from agvent.wire.codec import decode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.publishing_house import Book
from tests.sandboxes import KEYS, booked, trusted

FIGURE_6 = """\
author = 'Valentina Plekhanova' AND pages > 200 AND published > TIMESTAMP '2002-01-01'
AND references_contain('Alonso, E.') AND wholesale_price(1000, 'Istanbul') < 150000
"""


@pytest.fixture(scope="module", params=["in this process", "host"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    if request.param == "host":
        programs = Programs()
        programs.trust(program_of(Book))
        with SandboxHost(programs, KEYS, workers=1) as host:
            yield host
    else:
        yield trusted(Book)


class Watched:
    """A sandbox that notes what it is asked."""

    def __init__(self, inner: Sandbox) -> None:
        self.inner = inner
        self.calls: list[BehaviourCall] = []

    def run(self, tasks: Sequence[Task]) -> list[tuple[Answered, ...]]:
        self.calls += [call for task in tasks for call in task.calls]
        return self.inner.run(tasks)

    def arrive(self, arrival: Arrival) -> ArrivalReply:
        return self.inner.arrive(arrival)

    def route(self, stops: Sequence[Stop]) -> list[Decision]:
        return self.inner.route(stops)

    def quarantined(self) -> tuple[Quarantined, ...]:
        return self.inner.quarantined()

    def release(self, program: str) -> bool:
        return self.inner.release(program)


def matched(index: Subscriptions, events: list[bytes], sandbox: Sandbox) -> list[list[str]]:
    """The subscriptions that each agvent matches."""
    read = [decode_event(event) for event in events]
    came = [AskedAgvent("house", event) for event in events]
    return asked(came, lambda number, answers: index.match(read[number], answers), sandbox)[0]


def test_the_subscription_of_figure_6(sandbox: Sandbox) -> None:
    """It wants the book, and not one that another author wrote, that cites nobody, that costs too much, or that is
    old; each condition decides."""
    index = Subscriptions()
    index.add("istanbul", FIGURE_6, type="Book")
    index.add("publications", "", type="Publication")
    index.add("ours", "margin() > 0.2 AND list_price < 100", type="Book")
    events = [
        booked(),
        booked(author="V. P."),
        booked(pages=200),
        booked(_references=["x"]),
        booked(list_price=300.0),
        booked(margin=0.1),
    ]
    assert matched(index, events, sandbox) == [
        ["istanbul", "ours", "publications"],
        ["ours", "publications"],
        ["ours", "publications"],
        ["ours", "publications"],
        ["publications"],
        ["istanbul", "publications"],
    ]


def test_behaviours_run_only_where_the_attributes_match(sandbox: Sandbox) -> None:
    """The index decides first: an agvent whose attributes do not match is not asked, and equal calls are asked once."""
    watched = Watched(sandbox)
    index = Subscriptions()
    index.add("cheap", "list_price < 50 AND margin() > 0.1")
    index.add("thick", "pages > 300 AND wholesale_price(10, 'Oslo') < 5000")
    index.add("thick too", "pages > 310 AND wholesale_price(10, 'Oslo') < 9000")
    assert matched(index, [booked()], watched) == [["thick", "thick too"]]
    assert watched.calls == [BehaviourCall("wholesale_price", (10, "Oslo"))]


def test_a_fault_is_unknown(sandbox: Sandbox) -> None:
    """Neither the call nor its negation is true; the answers say why."""
    index = Subscriptions()
    index.add("wrong", "wholesale_price('many') < 10")
    index.add("not wrong", "NOT wholesale_price('many') < 10")
    index.add("or", "wholesale_price('many') < 10 OR pages = 320")
    event = booked()
    (found,), (answers,) = asked(
        [AskedAgvent("house", event)], lambda _, answers: index.match(decode_event(event), answers), sandbox
    )
    assert found == ["or"]
    assert [one.fault for one in answers.known] == ["argument 1 of wholesale_price is not of kind int"]


PARTS = (
    "pages > {n}",
    "author = 'Valentina Plekhanova'",
    "list_price BETWEEN {n} AND 250",
    "references_contain('r{n}')",
    "wholesale_price({n}, 'Istanbul') < 20000",
    "wholesale_price(pages) > {n} * 100",
    "margin() > 0.{n}",
    "is_new(published)",
    "is_new(TIMESTAMP '2002-05-01')",
    "dimensions[0] > {n}",
    "isbn IS NULL",
    "nothing({n}) = 1",
)


def filter_of(random: Random, depth: int = 2) -> str:
    """A random filter over attributes and behaviours."""
    if depth == 0 or random.random() < 0.2:
        return random.choice(PARTS).format(n=random.randrange(1, 400))
    word = random.choice((" AND ", " AND ", " OR "))
    text = word.join(f"({filter_of(random, depth - 1)})" for _ in range(random.randrange(2, 4)))
    return f"NOT ({text})" if random.random() < 0.2 else text


@pytest.mark.parametrize("seed", range(5))
def test_the_index_agrees_with_the_oracle(sandbox: Sandbox, seed: int) -> None:
    """Over random filters and books: what matches is what the oracle finds true with the same sandbox."""
    random = Random(seed)
    subscriptions = [Subscription(id=f"s{n}", filter=filter_of(random)) for n in range(30)]
    index = Subscriptions()
    index.add_many(subscriptions)
    events = [
        booked(
            pages=random.randrange(400),
            list_price=float(random.randrange(300)),
            margin=random.random(),
            _references=[f"r{random.randrange(1, 400)}" for _ in range(100)],
        )
        for _ in range(20)
    ]
    read = [decode_event(event) for event in events]
    came = [AskedAgvent("house", event) for event in events]

    def judge(number: int, answers: Answers) -> list[str]:
        return sorted(one.id for one in subscriptions if evaluate(one.condition(), read[number], answers))

    expected, _ = asked(came, judge, sandbox)
    assert matched(index, events, sandbox) == expected
    assert 0 < sum(map(len, expected)) < 600
