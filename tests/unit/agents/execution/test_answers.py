"""Answers as filters see them: what is missing is noted, and told apart by kind."""

from __future__ import annotations

import pytest

from agvent.agents.execution.answers import Answers, Questions
from agvent.event import Cargo
from agvent.filters.evaluate import evaluate
from agvent.filters.sql import parse_sql
from agvent.matching.subscriptions import Subscriptions
from agvent.wire.parts import Answered, BehaviourCall

EVENT = {"price": 3}


def test_a_call_without_an_answer_is_unknown_and_noted() -> None:
    """Beside a condition that is true it does no harm; 1, 1.0 and TRUE are three arguments."""
    answers = Answers((Answered(BehaviourCall("f", (1,)), True),))
    assert evaluate(parse_sql("f(1)"), EVENT, answers) is True
    assert evaluate(parse_sql("f(1.0) OR f(TRUE)"), EVENT, answers) is None
    assert evaluate(parse_sql("f(2) OR price = 3"), EVENT, answers) is True
    assert list(answers.missing.values()) == [
        BehaviourCall("f", (1.0,)),
        BehaviourCall("f", (True,)),
        BehaviourCall("f", (2,)),
    ]


def test_an_answer_may_be_missing_for_good() -> None:
    """The index goes by what there is, as the oracle does: only while answers are collected does it wait."""
    index = Subscriptions()
    index.add("or", "f(2) OR price = 3 OR size(name) = 1")
    assert index.match(EVENT, Answers()) == ["or"]


@pytest.mark.parametrize("text", ["f(2) > 1 AND g('x') < 4", "f(2) > 1 OR g('x') < 4", "NOT (f(2) = g('x'))"])
def test_questions_are_noted_all_at_once(text: str) -> None:
    """And the condition is evaluated when they are answered."""
    index = Subscriptions()
    index.add("s", text)
    questions = Questions()
    assert index.match(EVENT, questions) == []
    calls = sorted(questions.missing.values(), key=lambda call: call.name)
    assert calls == [BehaviourCall("f", (2,)), BehaviourCall("g", ("x",))]
    answered = Questions((Answered(calls[0], 5), Answered(calls[1], 3)))
    assert index.match(EVENT, answered) == ["s"]
    assert answered.missing == {}


def test_calls_that_depend_on_others_are_asked_in_turn() -> None:
    """f(f(1)) needs f(1) first; f(price) is known when the event is."""
    index = Subscriptions()
    index.add("s", "f(f(1)) = 9 AND f(price) = 9")
    known: tuple[Answered, ...] = ()
    rounds = []
    while True:
        questions = Questions(known)
        found = index.match(EVENT, questions)
        if not questions.missing:
            break
        rounds.append(list(questions.missing.values()))
        known += tuple(Answered(call, 9 if call.args[0] == 3 else 3) for call in questions.missing.values())
    assert (found, rounds) == (["s"], [[BehaviourCall("f", (1,))], [BehaviourCall("f", (3,))]])


def test_a_condition_on_an_opaque_attribute_is_one_question() -> None:
    """With all that it calls."""
    index = Subscriptions()
    index.add("s", "margin() > f(2)")
    questions = Questions((), Cargo("hash", opaque=("margin",)))
    assert index.match(EVENT, questions) == []
    assert list(questions.missing.values()) == [BehaviourCall("holds", ("margin() > f(2)",))]
