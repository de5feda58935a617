"""What a class may contain runs in a worker as it does in Python; what is refused there does not run in a worker."""

from __future__ import annotations

import ast
import base64
import bisect
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import reduce
from typing import Any

import pydantic_monty as monty
import pytest

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.method_checks import REFUSED
from agvent.agents.authoring.publishing import published
from agvent.agents.authoring.references import BUILTINS
from agvent.agents.execution.sandbox import Task
from agvent.agents.execution.signed_programs import Programs
from agvent.sandbox.host import SandboxHost
from agvent.wire.codec import encode_event
from agvent.wire.parts import BehaviourCall
from tests.sandboxes import trusted

PRIMES = (2, 3, 5, 7)
BEGAN = datetime(2000, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
NESTED: dict[str, Any] = {
    "e": [BEGAN],
    "a": [1, 2.5, None, True, b"x"],
    "b": ("t",),
    "c": frozenset({"s"}),
    "d": float("inf"),
}


class Tour(Agvent):
    """One method for each part of the language that a publisher may use."""

    words: list[str]
    born: datetime
    scores: dict[str, Any]
    LIMITS = (1, 10)
    ENDED = datetime(2024, 2, 29, tzinfo=UTC)

    def comprehensions(self) -> list[int]:
        squares = [n * n for n in PRIMES if n % 2]
        lengths = {word: len(word) for word in self.words}
        return [*squares, *sorted(lengths.values()), sum(n for n in range(4)), len({n % 2 for n in PRIMES})]

    def control(self, n: int) -> str:
        found = []
        while True:
            n -= 1
            if n < 0:
                break
            elif n == 3:  # noqa: RET508  elif is among what is shown
                continue
            found.append(n)
        else:
            found = []
        for one in found:
            if one > 100:
                break
        else:
            found.append(-1)
        return ",".join(str(n) for n in found)

    def patterns(self, n: int) -> str:
        match (n, self.words):
            case (0, _):
                return "zero"
            case (int() as whole, [first, *_]) if whole < 0:
                return f"negative {first}"
            case (1 | 2, [*rest]):
                return f"small {len(rest)}"
            case _:
                return "other"

    def exceptions(self, n: int) -> str:
        try:
            value = 10 // n
        except ZeroDivisionError as error:
            return f"caught {isinstance(error, ArithmeticError)}"
        except (TypeError, ValueError):
            raise
        else:
            return f"got {value}"
        finally:
            n += 1

    def functions(self, n: int) -> int:
        total = 0

        def add(amount: int, *more: int, times: int = 1, **named: int) -> int:
            nonlocal total
            total += amount * times + sum(more) + sum(named.values())
            return total

        add(n, 1, 2, times=2, extra=3)
        doubled = sorted([total, 2 * total], key=lambda number: -number)
        return doubled[0] + max(map(len, self.words), default=0)

    def formats(self, price: float) -> str:
        name, width = "x", 8
        return f"{price:>{width}.2f}|{name!r}|{price:,.1f}|" + "%s %d" % (name, 3) + "{0:03d}".format(7)  # noqa: UP030, UP031, UP032

    def multiline(self) -> str:
        return f"""first {self.words[0]}
    second"""

    def times(self) -> datetime:
        return self.born + timedelta(days=1) if self.born > datetime(2000, 1, 1, tzinfo=UTC) else self.born

    def moments(self) -> list[datetime]:
        return [BEGAN, self.ENDED, *NESTED["e"]] if BEGAN < self.born < self.ENDED else []

    def modules(self) -> dict[str, Any]:
        groups = defaultdict(list)
        for word in self.words:
            groups[word[0]].append(word)
        return {
            "re": bool(re.search(r"^b\w+", "bird")),
            "json": json.loads(json.dumps({"a": [1, None]})),
            "counter": Counter("aab").most_common(1)[0][1],
            "decimal": str(Decimal("1.10") + Decimal(2)),
            "chain": list(itertools.chain(PRIMES, [1])),
            "reduce": reduce(lambda a, b: a * b, PRIMES),
            "bisect": bisect.bisect(PRIMES, 4),
            "base64": base64.b64encode(b"agvent").decode(),
            "groups": dict(groups),
        }

    def constants(self) -> Any:
        return [NESTED["a"], list(NESTED["b"]), sorted(NESTED["c"]), NESTED["d"] > 10**300, self.LIMITS[1]]

    def values(self) -> Any:
        first, *_, last = self.words
        chosen = self.scores.get("x", {}).get("y") if self.scores else None
        return [
            first,
            last[::-1].upper(),
            chosen,
            7 // 2,
            -7 % 3,
            2**10,
            1 <= 2 < 3,
            not None,
            "a" in "cat",
            0b11 ^ 0x1,
        ]

    def _private(self, word: str) -> str:
        return word.title()

    def through_private(self) -> list[str]:
        return [self._private(word) for word in self.words]


CALLS = (
    BehaviourCall("comprehensions", ()),
    *(BehaviourCall("control", (n,)) for n in (0, 5)),
    *(BehaviourCall("patterns", (n,)) for n in (0, -1, 2, 9)),
    *(BehaviourCall("exceptions", (n,)) for n in (0, 3)),
    BehaviourCall("functions", (4,)),
    BehaviourCall("formats", (1234.567,)),
    BehaviourCall("multiline", ()),
    BehaviourCall("times", ()),
    BehaviourCall("moments", ()),
    BehaviourCall("modules", ()),
    BehaviourCall("constants", ()),
    BehaviourCall("values", ()),
    BehaviourCall("through_private", ()),
)


def test_a_worker_runs_what_a_class_may_contain() -> None:
    """Every part of the language that is not refused: the answers are Python's own, and none is a fault."""
    tour = Tour(words=["bee", "ant", "bat"], born=datetime(2002, 2, 28, tzinfo=UTC), scores={"x": {"y": 3}})
    tasks = [Task("house", encode_event(published(tour, "house")), CALLS)]
    programs = Programs()
    programs.trust(program_of(Tour))
    with SandboxHost(programs, workers=1) as host:
        (found,) = host.run(tasks)
    (expected,) = trusted(Tour).run(tasks)
    assert found == expected
    assert [answer.fault for answer in found] == [""] * len(CALLS)
    assert [answer.value for answer in found] == [_listed(getattr(tour, call.name)(*call.args)) for call in CALLS]


class Tally(Agvent):
    """Changes its lists under another name."""

    words: list[str]
    nested: dict[str, Any]

    def longer(self) -> int:
        words = self.words
        words.append("more")
        return len(words)

    def deeper(self) -> int:
        inner = self.nested["a"]
        inner.append(1)
        return len(inner)

    def count(self) -> list[int]:
        return [len(self.words), len(self.nested["a"])]

    def grown(self, given: list[int]) -> int:
        given.append(1)
        return len(given)


def test_no_call_sees_what_another_one_changed() -> None:
    """In whatever order they are asked, of one agvent or of several, in both sandboxes."""
    event = encode_event(published(Tally(words=["one"], nested={"a": []}), "house"))
    longer, deeper, count = (BehaviourCall(name, ()) for name in ("longer", "deeper", "count"))
    grown = BehaviourCall("grown", ([7],))
    programs = Programs()
    programs.trust(program_of(Tally))
    expected = {"longer": 2, "deeper": 1, "count": [1, 0], "grown": 2}
    for calls in ((longer, deeper, count, grown), (grown, count, deeper, longer)):
        tasks = [Task("house", event, calls), Task("house", event, calls)]
        with SandboxHost(programs, workers=1) as host:
            for sandbox in (host, trusted(Tally)):
                for answers in sandbox.run(tasks):
                    assert [(one.value, one.fault) for one in answers] == [(expected[one.name], "") for one in calls]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


@pytest.fixture(scope="module")
def session() -> Iterator[monty.MontySession]:
    with monty.Monty(min_processes=1, max_processes=1, request_timeout=10) as pool, pool.checkout() as session:
        yield session


SYNTAX = {
    ast.Yield: "def f():\n    yield 1\nlist(f())",
    ast.YieldFrom: "def f():\n    yield from [1]\nlist(f())",
    ast.Delete: "x = [1]\ndel x[0]",
    ast.TryStar: "try:\n    pass\nexcept* ValueError:\n    pass",
}
"""Refused because a worker cannot. The rest is refused because a behaviour waits for nothing, keeps no state, and names
what it needs at the top of its file."""


@pytest.mark.parametrize("node", SYNTAX, ids=lambda node: node.__name__)
def test_a_worker_cannot_run_what_is_refused(session: monty.MontySession, node: type[ast.AST]) -> None:
    """If this fails, a newer worker can, and the refusal can go."""
    assert node in REFUSED
    with pytest.raises(monty.MontyError):
        session.feed_run(SYNTAX[node])


@pytest.mark.parametrize("name", sorted(BUILTINS))
def test_a_worker_has_pythons_names(session: monty.MontySession, name: str) -> None:
    """Every name of Python's own that a method may use."""
    session.feed_run(f"{name} is {name}")
