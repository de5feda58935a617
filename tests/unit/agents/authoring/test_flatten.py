"""A class becomes a program: flattened, with its luggage; and what the sandbox cannot run is refused with the line."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Signature
from agvent.errors import ProgramError
from tests.publishing_house import Book

RATES = {"EUR": 1.1, "USD": 1.0}
HOST = os.environ


def converted(price: float, currency: str = "EUR") -> float:
    """Into dollars."""
    return price * RATES[currency]


def test_a_program_is_one_class_with_all_that_it_names() -> None:
    """Ancestors' methods, super() under another name, constants, functions and imports; no annotations, no docstrings,
    no bases."""
    program = program_of(Book)
    assert (
        program.source
        == """\
import math as math
SHIPPING = {'Istanbul': 900.0, 'Ankara': 1100.0}
def shipping(city):
    return SHIPPING.get(city, 1500.0)
class Book:
    DISCOUNT = 0.5

    def _Publication_wholesale_price(self, amount, destination):
        return amount * self.DISCOUNT + shipping(destination)

    def arrive(self, subscriber):
        subscriber.tell({'hello': subscriber.name, 'price': self.list_price})
        subscriber.answer([subscriber.context.get('city'), len(self._references)])

    def is_new(self, since):
        return self.published >= since

    def references_contain(self, author):
        return author in self._references

    def wholesale_price(self, amount, destination='Ankara'):
        books = math.floor(amount * self.list_price * self.DISCOUNT)
        return books + self._Publication_wholesale_price(0, destination)
"""
    )
    assert program.behaviours == (
        Signature("margin", "float", opaque=True),
        Signature("is_new", "bool", ("timestamp",), 1),
        Signature("wholesale_price", "float", ("int", "str"), 1),
        Signature("references_contain", "bool", ("str",), 1),
    )
    assert program.reads == ("_references", "list_price", "margin", "published")
    assert program.arrives


def test_super_follows_pythons_order_of_inheritance() -> None:
    """In a diamond each method is called once, as Python would."""

    class Top(Agvent):
        def path(self) -> str:
            return "top"

    class Left(Top):
        def path(self) -> str:
            return "left " + super().path()

    class Right(Top):
        def path(self) -> str:
            return "right " + super().path()

    class Bottom(Left, Right):
        def path(self) -> str:
            return "bottom " + super().path()

    scope: dict[str, type] = {}
    exec(program_of(Bottom).source, scope)
    assert scope["Bottom"]().path() == Bottom().path() == "bottom left right top"


def test_what_a_method_names_travels_along() -> None:
    """Constants, functions that name others, names of modules, and what a function around the class holds."""
    limit = 10

    class Dear(Agvent):
        price: float

        def is_dear(self, currency: str) -> bool:
            found = [converted(self.price, currency) > limit for _ in range(1)]
            return any(found) and math.isfinite(self.price) and Decimal(1) > 0

    assert (
        program_of(Dear).source
        == """\
from decimal import Decimal as Decimal
import math as math
RATES = {'EUR': 1.1, 'USD': 1.0}
limit = 10
def converted(price, currency='EUR'):
    return price * RATES[currency]
class Dear:

    def is_dear(self, currency):
        found = [converted(self.price, currency) > limit for _ in range(1)]
        return any(found) and math.isfinite(self.price) and (Decimal(1) > 0)
"""
    )


def generator(self: Agvent) -> list[int]:
    return sorted(yields())


def yields() -> Iterator[int]:
    yield 1


def deletes(self: Agvent) -> int:
    found = [1]
    del found[0]
    return 1


def is_global(self: Agvent) -> int:
    global RATES  # noqa: PLW0602
    return len(RATES)


def decorated(self: Agvent) -> int:
    return 1


def of_class(cls: type[Agvent], /) -> int:
    return 1


def imports(self: Agvent) -> int:
    import json  # noqa: PLC0415

    return len(json.dumps(1))


def prints(self: Agvent) -> int:
    print(1)
    return 1


def opens(self: Agvent) -> str:
    return open("x").read()


def dunder(self: Agvent) -> str:
    return str(self.__class__)


def inner_class(self: Agvent) -> int:
    class Inner:
        pass

    return 1


def assigns(self: Agvent) -> int:
    self.price = 3
    return 1


def environment(self: Agvent) -> str:
    return HOST["PATH"]


def operating_system(self: Agvent) -> str:
    return os.name


def is_callable(self: Agvent) -> bool:
    return callable(3)


def misspelt(self: Agvent) -> float:
    return self.prise  # type: ignore[attr-defined, no-any-return]


def bare_super(self: Agvent) -> str:
    return str(super(Agvent, self))


REFUSED = [
    (deletes, 2, "the sandbox does not run del", "build a list or dict without the element, or use pop()"),
    (is_global, 1, "the sandbox does not run global", "pass the value as an argument"),
    (imports, 1, "the sandbox does not run import inside a method", "import at the top of the file"),
    (prints, 1, "the sandbox does not run print()", "return the value"),
    (opens, 1, "the sandbox does not run open()", "give the agvent a field with the content"),
    (dunder, 1, "the sandbox does not run .__class__", "use a name with one underscore"),
    (inner_class, 1, "the sandbox does not run a class inside a method", "use a dict or a tuple"),
    (assigns, 1, "the sandbox does not run self.price = …", "use a variable: an agvent does not change"),
]


@pytest.mark.parametrize(("method", "line", "message", "hint"), REFUSED, ids=lambda one: getattr(one, "__name__", ""))
def test_what_the_sandbox_cannot_run_is_refused_when_the_class_is_defined(
    method: Callable[..., object], line: int, message: str, hint: str
) -> None:
    """With the line of the file, and what to write instead."""
    with pytest.raises(ProgramError) as raised:
        type("Refused", (Agvent,), {"behave": method})
    assert raised.value.message == f"Refused.{method.__name__}: {message}"
    assert raised.value.line == inspect.getsourcelines(method)[1] + line
    assert (raised.value.hint or "").startswith(hint)


UNPORTABLE = [
    (generator, "Refused: yields(): the sandbox does not run yield", yields, 1),
    (environment, "Refused.environment names HOST, which is a _Environ and cannot travel along", environment, 1),
    (operating_system, "Refused.operating_system names os, which is a module and cannot travel along", None, 1),
    (is_callable, "Refused.is_callable names callable, which the sandbox does not have", None, 1),
    (misspelt, "Refused.misspelt: self.prise is not there", None, 1),
    (bare_super, "Refused.bare_super names Agvent, which is a type and cannot travel along", None, 1),
]


@pytest.mark.parametrize(
    ("method", "message", "where", "line"), UNPORTABLE, ids=lambda one: getattr(one, "__name__", "")
)
def test_what_cannot_travel_is_refused_when_the_program_is_made(
    method: Callable[..., object], message: str, where: Callable[..., object] | None, line: int
) -> None:
    """A name of the module that is neither value, function nor module of the sandbox; a member that is not there."""
    refused = type("Refused", (Agvent,), {"__annotations__": {"price": float}, "behave": method})
    with pytest.raises(ProgramError) as raised:
        program_of(refused)
    assert raised.value.message == message
    assert raised.value.line == inspect.getsourcelines(where or method)[1] + line


def test_forms_of_method_that_the_sandbox_has_not() -> None:
    """Properties, static and class methods, decorators, dunder methods and methods without self."""

    def plain() -> int:
        return 1

    for member, message in (
        (property(decorated), "Refused.behave is a property, which the sandbox does not run"),
        (staticmethod(decorated), "Refused.behave is a staticmethod, which the sandbox does not run"),
        (classmethod(of_class), "Refused.behave is a classmethod, which the sandbox does not run"),
        (int, "Refused.behave is a class inside an agvent"),
        (plain, "Refused.plain has no self"),
    ):
        with pytest.raises(ProgramError) as raised:
            type("Refused", (Agvent,), {"behave": member})
        assert raised.value.message == message
    with pytest.raises(ProgramError, match=r"Sized.__len__: methods of that form are Python's own"):

        class Sized(Agvent):
            def __len__(self) -> int:
                return 1


@pytest.mark.parametrize("parameters", ["self, a: int, /", "self, /, a: int"])
def test_a_slash_among_the_parameters_is_refused(parameters: str, tmp_path: Path) -> None:
    """It is the slash that the message names, and not a self that is there."""
    module = tmp_path / "slashed.py"
    module.write_text(f"class Slashed(Agvent):\n    def f({parameters}) -> int:\n        return a\n")
    with pytest.raises(ProgramError) as raised:
        exec(compile(module.read_text(), str(module), "exec"), {"Agvent": Agvent})
    assert str(raised.value) == (
        "line 2: Slashed.f has a / among its parameters\nhint: leave it out: callers may name arguments"
    )


def test_an_ancestor_is_called_through_super() -> None:
    """Its name cannot travel along, in whatever form it stands; the hint says what does."""

    class Parent(Agvent):
        def path(self) -> str:
            return "parent"

    class Named(Parent):
        def path(self) -> str:
            return Parent.path(self)

    class Given(Parent):
        def path(self) -> str:
            return super(Given, self).path()  # noqa: UP008

    class Kept(Parent):
        def path(self) -> str:
            parent = super()
            return parent.path()  # type: ignore[attr-defined, no-any-return]

    for refused in (Named, Given, Kept):
        with pytest.raises(ProgramError) as raised:
            program_of(refused)
        assert (raised.value.hint or "").startswith("write super().method(…) for a method of an ancestor")


def test_a_sealed_field_is_not_for_methods() -> None:
    """No sandbox has it."""

    class Nosy(Book):
        def peek(self) -> str:
            return self.contract

    with pytest.raises(ProgramError, match=r"Nosy.peek: self.contract is sealed: no sandbox reads it"):
        program_of(Nosy)


def test_a_class_without_text_is_refused() -> None:
    """Code travels as its text, so there must be one."""
    scope: dict[str, object] = {"Agvent": Agvent}
    with pytest.raises(ProgramError, match=r"Typed.price: its text cannot be found"):
        exec("class Typed(Agvent):\n    def price(self) -> int:\n        return 1\n", scope)


def test_an_error_shows_line_and_hint() -> None:
    """As a person reads it."""
    error = ProgramError("Book.price: the sandbox does not run del", line=12, hint="use pop()")
    assert str(error) == "line 12: Book.price: the sandbox does not run del\nhint: use pop()"


def test_a_program_says_which_fields_it_reads() -> None:
    """Those that its methods name; all but the sealed ones if the agvent itself is handed on."""

    class Careful(Book):
        def first(self) -> str:
            return self.title[:1]

    class Careless(Book):
        def read(self, name: str) -> str:
            return str(getattr(self, name))

    assert program_of(Careful).reads == ("_references", "list_price", "margin", "published", "title")
    assert set(program_of(Careless).reads) == Book.__agvent_fields__.keys() - {"contract"}


def test_ancestors_of_one_name_are_told_apart() -> None:
    """Each super() finds its own, though both are called Item."""

    def first() -> type[Agvent]:
        class Item(Agvent):
            def path(self) -> str:
                return "first"

        return Item

    class Item(first()):  # type: ignore[misc]
        def path(self) -> str:
            return "second " + super().path()  # type: ignore[no-any-return]

    class Last(Item):
        def path(self) -> str:
            return "last " + super().path()

    scope: dict[str, type] = {}
    exec(program_of(Last).source, scope)
    assert scope["Last"]().path() == Last().path() == "last second first"
