"""What the data says of the worker's Python is so, in a worker; what is not there is refused with the line."""

from __future__ import annotations

import collections
import inspect
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, getcontext
from functools import cmp_to_key
from importlib import import_module
from typing import Any

import pydantic_monty as monty
import pytest

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.dialect import CLASSES, CODECS, IMPURE_NAMES, LACKING, METHODS, NAMES
from agvent.agents.authoring.flatten import program_of
from agvent.errors import ProgramError


@pytest.fixture(scope="module")
def session() -> Iterator[monty.MontySession]:
    with monty.Monty(min_processes=1, max_processes=1, request_timeout=10) as pool, pool.checkout() as session:
        session.feed_run(
            "from datetime import date, datetime, time, timedelta, timezone\nfrom decimal import Decimal\n"
            "from collections import Counter, defaultdict, deque\nimport re"
        )
        yield session


def fault(session: monty.MontySession, code: str) -> str:
    """What a worker says to this; empty if it runs."""
    try:
        session.feed_run(code)
    except monty.MontyError as error:
        return f"{type(error.exception()).__name__}: {error.exception()}"
    return ""


SAMPLES: dict[str, Any] = {
    "'a'": "a",
    "(1)": 1,
    "(1.5)": 1.5,
    "b'a'": b"a",
    "[1]": [1],
    "{1: 2}": {1: 2},
    "{1}": {1},
    "frozenset([1])": frozenset([1]),
    "(1,)": (1,),
    "datetime(2020, 1, 1)": datetime(2020, 1, 1),  # noqa: DTZ001  its attributes matter
    "date(2020, 1, 1)": date(2020, 1, 1),
    "time(1, 2)": time(1, 2),
    "timedelta(1)": timedelta(1),
    "timezone.utc": timezone.utc,  # noqa: UP017  as the worker has it
    "Decimal('1')": Decimal(1),
    "Counter('a')": Counter("a"),
    "deque([1])": deque([1]),
    "defaultdict(int)": defaultdict(int),
    "re.compile('a')": re.compile("a"),
    "re.match('a', 'a')": re.match("a", "a"),
}
"""Values of every type of Python's own that a program can have."""


def has(session: monty.MontySession, text: str, name: str, sample: Any) -> bool:
    """Has a value this attribute in a worker? A method is there if it can be called, with whatever outcome."""
    call = "()" if callable(getattr(sample, name)) else ""
    return "has no attribute" not in fault(session, f"({text}).{name}{call}")


@pytest.mark.parametrize("module", NAMES)
def test_a_worker_has_these_names_of_a_module(session: monty.MontySession, module: str) -> None:
    """All that are listed, and of Python's own no others but the impure ones. If this fails, a newer worker has more,
    or less: the list is to be changed."""
    python = {name for name in dir(import_module(module)) if not name.startswith("_")}
    found = {name for name in python | NAMES[module] if not fault(session, f"from {module} import {name}")}
    assert found - IMPURE_NAMES.keys() == NAMES[module]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_worker_has_these_members_of_a_class(session: monty.MontySession, cls: type) -> None:
    """All that are listed, and no others but the clock's."""
    found = {
        name
        for name in dir(cls)
        if not name.startswith("_")
        and "has no attribute" not in fault(session, f"{cls.__name__}.{name}{'()' * callable(getattr(cls, name))}")
    }
    assert found - {"now", "today"} == CLASSES[cls]


def test_no_value_has_what_is_lacking(session: monty.MontySession) -> None:
    """Of whatever type; and what is listed as a method is one of a type that has it."""
    known = {name for value in SAMPLES.values() for name in dir(value) if not name.startswith("_")}
    found = {
        name
        for text, value in SAMPLES.items()
        for name in dir(value)
        if not name.startswith("_") and has(session, text, name, value)
    }
    assert sorted(LACKING.keys() & found) == []
    assert sorted(LACKING.keys() - known) == []
    assert sorted(METHODS - found) == []


@pytest.mark.parametrize("codec", sorted(CODECS))
def test_a_worker_has_these_encodings(session: monty.MontySession, codec: str) -> None:
    assert fault(session, f"'a'.encode({codec!r}).decode({codec!r})") == ""


INSTEAD = {
    "bytes([1, 255])": "bytes.fromhex(''.join(f'{n:02x}' for n in [1, 255]))",
    "next(n for n in [1])": "next(iter([n for n in [1]]))",
    "next(zip([1], [2]))": "next(iter(zip([1], [2])))",
    "sorted(['b', 'A'], key=str.lower)": "sorted(['b', 'A'], key=lambda one: one.lower())",
    "max({'a': 1}, key={'a': 1}.get)": "max({'a': 1}, key=lambda one: {'a': 1}.get(one))",
    "list(map(datetime.fromisoformat, ['2020-01-01']))": "[datetime.fromisoformat(one) for one in ['2020-01-01']]",
    "datetime.fromtimestamp(5)": "datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=5)",
    "'abc'.translate({97: 'x'})": "''.join({'a': 'x'}.get(one, one) for one in 'abc')",
    "(5).bit_length()": "len(bin(abs(5))) - 2",
    "(5).to_bytes(4, 'big')": "bytes.fromhex(f'{5:08x}')",
    "int.from_bytes(b'ab', 'big')": "int(b'ab'.hex(), 16)",
    "(1.5).is_integer()": "1.5 == int(1.5)",
    "b'a'.decode('latin-1')": "b'a'.decode('utf-8')",
    "getattr('a', 'upper')()": "'a'.upper()",
}


@pytest.mark.parametrize("refused", INSTEAD)
def test_what_is_refused_fails_in_a_worker_and_what_to_write_instead_runs(
    session: monty.MontySession, refused: str
) -> None:
    assert fault(session, refused) != ""
    assert fault(session, INSTEAD[refused]) == ""


def test_what_differs_from_python_is_what_the_docs_say(session: monty.MontySession) -> None:
    """docs/agvents.md names these; if this fails, they are to be taken out there."""
    assert (session.feed_run("round(2.675, 2)"), round(2.675, 2)) == (2.68, 2.67)
    for code in (
        "f = 'a'.upper",
        "found = (n for n in [1])\nnext(found)",
        "(0.5).hex()",
        "(0.5).as_integer_ratio()",
        "(1).real",
        "range(3).stop",
        "range(3).index(1)",
    ):
        assert fault(session, code) != "", code
    assert session.feed_run("hasattr('a', '__len__')") is False


def ordered(self: Any) -> int:
    return len(OrderedDict(a=self.n))


def descending(a: int, b: int) -> int:
    return b - a


def compared(self: Any) -> Any:
    return sorted([self.n], key=cmp_to_key(descending))


def of_module(self: Any) -> int:
    return len(collections.ChainMap({"a": self.n}))


def context(self: Any) -> Any:
    return getcontext().prec + self.n


def unbound(self: Any) -> Any:
    return sorted([str(self.n)], key=str.lower)


def handed(self: Any) -> Any:
    known: Any = {"a": self.n}
    return max(known, key=known.get)


def clock(self: Any) -> Any:
    return datetime.now(UTC).year > self.n


def first(self: Any) -> Any:
    return next(n for n in range(self.n))


def first_of_zip(self: Any) -> Any:
    return next(zip([self.n], [1], strict=False))


def octets(self: Any) -> bytes:
    return bytes([self.n])


def translated(self: Any) -> str:
    return str(self.n).translate({48: "x"})


def latin(self: Any) -> str:
    return str(self.n).encode().decode("latin-1")


def by_name(self: Any) -> Any:
    return getattr(str(self.n), "upper")()  # noqa: B009  what is refused


REFUSALS: list[tuple[Callable[..., object], str, str]] = [
    (ordered, " names OrderedDict, which the sandbox does not have", "use dict, which keeps its order"),
    (compared, " names cmp_to_key, which the sandbox does not have", "give a key: sorted(values, key=lambda one: …)"),
    (of_module, ": the sandbox does not run collections.ChainMap", "merge them: {**one, **other}"),
    (context, " names getcontext, which the sandbox does not have", IMPURE_NAMES["getcontext"]),
    (unbound, ": the sandbox does not run str.lower", "write lambda one: one.lower()"),
    (handed, ": the sandbox does not run known.get without a call", "write lambda one: known.get(one)"),
    (clock, ": the sandbox does not run datetime.now", LACKING["now"]),
    (first, ": the sandbox does not run next() of a generator", "write next(iter([… for … in …]))"),
    (first_of_zip, ": the sandbox does not run next(zip(…))", "write next(iter(zip(…)))"),
    (octets, ": the sandbox does not run bytes([…])", 'write bytes.fromhex("".join(f"{n:02x}" for n in numbers))'),
    (translated, ": the sandbox does not run .translate", LACKING["translate"]),
    (latin, ': the sandbox does not run decode("latin-1")', "use utf-8 or ascii"),
    (by_name, ': the sandbox does not run getattr(…, "upper")', "write the call itself: x.upper()"),
]


@pytest.mark.parametrize(("method", "message", "hint"), REFUSALS, ids=lambda one: getattr(one, "__name__", ""))
def test_what_a_worker_has_not_is_refused(method: Callable[..., object], message: str, hint: str) -> None:
    """When the program is made, so before it is advertised: with the line and what to write instead."""
    with pytest.raises(ProgramError) as raised:
        program_of(type("Refused", (Agvent,), {"__annotations__": {"n": int}, "behave": method}))
    assert (raised.value.message, raised.value.hint) == (f"Refused.{method.__name__}{message}", hint)
    lines, begins = inspect.getsourcelines(method)
    assert raised.value.line == begins + len(lines) - 1


def titled(book: Any) -> Any:
    """A function that is given the agvent."""
    return [book.title, book.now(), sorted([2, 1], key=book.index)]


def test_an_agvents_own_members_may_have_any_name() -> None:
    """Those of Python's own methods too, and those that a worker's types lack."""

    class Own(Agvent):
        title: str

        def now(self) -> int:
            return 1

        def index(self, n: int) -> int:
            return -n

        def behave(self) -> Any:
            return [self.now(), sorted([2, 1], key=self.index), titled(self)]

    assert program_of(Own).type == "Own"
