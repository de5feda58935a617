"""What a behaviour may not change, and what is copied for it."""

from __future__ import annotations

import ast
import bisect
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.purity import changed_by, copied, is_shared, may_change
from agvent.errors import ProgramError

SEEN: list[int] = []
PRICES = {"Oslo": [1.0]}


def field_appended(self: Any) -> int:
    self._seen.append(1)
    return 1


def field_assigned(self: Any) -> int:
    self._seen[0] = 1
    return 1


def field_added(self: Any) -> int:
    self._seen[0] += 1
    return 1


def field_sorted_in(self: Any) -> int:
    bisect.insort(self._seen, 1)
    return 1


def element_changed(self: Any) -> int:
    self._seen[0]["a"].update(b=1)
    return 1


def constant_appended(self: Any) -> int:
    SEEN.append(1)
    return len(SEEN)


def constant_assigned(self: Any) -> int:
    PRICES["Oslo"][0] = 2.0
    return 1


def default_appended(self: Any, seen: list[int] = []) -> int:  # noqa: B006  what is refused
    seen.append(1)
    return 1


REFUSED = [
    (field_appended, "self._seen"),
    (field_assigned, "self._seen"),
    (field_added, "self._seen"),
    (field_sorted_in, "self._seen"),
    (element_changed, "self._seen[0]['a']"),
    (constant_appended, "SEEN"),
    (constant_assigned, "PRICES['Oslo']"),
    (default_appended, "seen"),
]


@pytest.mark.parametrize(("method", "changed"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
def test_a_change_that_other_calls_would_see_is_refused(method: Callable[..., object], changed: str) -> None:
    """Of a field, of what a field holds, of a constant of the module, of a default: with the line."""
    with pytest.raises(ProgramError) as raised:
        program_of(type("Refused", (Agvent,), {"__annotations__": {"_seen": list[int]}, "behave": method}))
    assert raised.value.message == f"Refused.{method.__name__} changes {changed}, which other calls see"
    assert raised.value.line == inspect.getsourcelines(method)[1] + 1


def test_what_a_call_made_itself_it_may_change() -> None:
    """A copy of a field, a variable with the name of a parameter, a method of its own that is named like a list's."""

    class Fine(Agvent):
        _seen: list[int]

        def update(self, seen: list[int] = []) -> int:  # noqa: B006  what is allowed
            seen = list(seen)
            seen.append(1)
            table = dict(PRICES)
            table["Rome"] = [2.0]
            return len(seen)

        def behave(self) -> int:
            seen = [*self._seen, self.update()]
            seen.sort()
            return len(seen)

    assert program_of(Fine).may_change


def test_what_a_node_changes() -> None:
    """Of what has no name, nothing is said."""
    body = ast.parse("a.b[0].pop()\nf().pop()\na.get(1)\nx[0]").body
    found = [changed_by(one.value) for one in body if isinstance(one, ast.Expr)]
    assert [(root, what and ast.unparse(what)) for root, what in found] == [
        ("a", "a.b[0]"),
        ("", None),
        ("", None),
        ("", None),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("return self.price * 2 >= 3 and x[0] == 1 and x[1] <= 2 and f(a=x != 3)", False),
        ("return author in self._references", False),
        ("x.append(1)", True),
        ("x[0] = 1", True),
        ("x[0], y = 1, 2", True),
        ("x += [1]", True),
        ("x |= {1: 2}", True),
        ("insort(x, 1)", True),
        ("getattr(x, 'append')(1)", True),
    ],
)
def test_a_program_in_which_nothing_changes_is_told_by_its_text(source: str, expected: bool) -> None:
    assert may_change(source) is expected


def test_a_copy_shares_nothing_that_can_change() -> None:
    value = {"a": [1, {"b": [2]}], "c": ("t", [3])}
    made = copied(value)
    assert made == value
    made["a"][1]["b"].append(4)
    made["c"][1].append(4)
    assert value == {"a": [1, {"b": [2]}], "c": ("t", [3])}
    given: list[Any] = [1, "a", None, (1, "a"), (1, []), [], {}]
    assert [is_shared(one) for one in given] == [False] * 4 + [True] * 3
