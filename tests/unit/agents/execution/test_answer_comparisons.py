"""A comparison that is read from the answers says what the oracle says."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest

from agvent.agents.execution import answers
from agvent.agents.execution.answers import Questions
from agvent.event import Cargo, Event
from agvent.filters import tree
from agvent.filters.evaluate import evaluate
from agvent.filters.sql import parse_sql
from agvent.wire.parts import Answered, BehaviourCall

ANSWERS = (
    None,
    True,
    False,
    0,
    1,
    -3,
    1.0,
    float("nan"),
    float("inf"),
    "",
    "a",
    "b",
    b"a",
    datetime(2026, 1, 1, tzinfo=UTC),
)


@pytest.mark.parametrize("op", ["=", "<>", "<", "<=", ">", ">="])
def test_a_comparison_is_read_from_the_answers_as_the_oracle_would(op: str) -> None:
    """Every kind of answer against every kind of literal, NaN and null among them."""
    call = tree.Call("f", (tree.Literal(2), tree.Literal("x")))
    for answer, right, unlike in product(ANSWERS, ANSWERS, (None, False, True)):
        condition = tree.Compare(op, call, tree.Literal(right), unlike)
        known = (Answered(BehaviourCall("f", (2, "x")), answer),)
        assert Questions(known).judged(condition, Event()) is evaluate(condition, Event(), Questions(known))


@pytest.mark.parametrize(
    "text",
    [
        "f(2, 'x') > 1",
        "f(n) > 1",
        "1 < f(2, 'x')",
        "f(2, 'x') > n",
        "f(2, 'x') BETWEEN 1 AND 3",
        "f(g(1)) > 1",
        "f(n, g(1)) > 1",
        "f(2, 'x')",
    ],
)
@pytest.mark.parametrize("opaque", [(), ("f",)])
def test_only_a_call_with_written_arguments_beside_a_literal_is_read(
    text: str, opaque: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything else is the oracle's, and a field that nobody may read is asked of the sandbox."""
    asked: list[Any] = []

    def oracle(*given: Any) -> bool | None:
        asked.append(given)
        return evaluate(*given)

    monkeypatch.setattr(answers, "evaluate", oracle)
    condition = parse_sql(text)
    cargo = Cargo(program="", hidden=b"", opaque=opaque)
    known = (
        Answered(BehaviourCall("f", (2, "x")), 2),
        Answered(BehaviourCall("f", (2,)), 2),
        Answered(BehaviourCall("holds", (text,)), True),
        Answered(BehaviourCall("g", (1,)), 0),
        Answered(BehaviourCall("f", (0,)), 7),
        Answered(BehaviourCall("f", (2, 0)), 7),
    )
    event = Event(attributes={"n": 2})
    assert Questions(known, cargo).judged(condition, event) is evaluate(condition, event, Questions(known, cargo))
    assert bool(asked) is not (text == "f(2, 'x') > 1" and not opaque)
