"""A class becomes a type: fields, kinds, behaviours, descriptions; and what cannot be one."""

from __future__ import annotations

import inspect
import typing
from datetime import UTC, datetime
from typing import Annotated, Any, ClassVar

import pytest

from agvent import Agvent, Opaque, Sealed
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.type_table import table_of
from agvent.errors import EventError, ProgramError
from agvent.event import Int32
from agvent.types import AdvertisedAttribute, AdvertisedBehaviour, AgventType, Parameter
from tests.publishing_house import Book, book

PRICE = "Price in dollars for an order."


def test_the_advertisement_is_that_of_figure_5() -> None:
    """Attributes and behaviours, their kinds, parameters and descriptions, the ancestry and the program's hash."""
    assert type_of(Book) == AgventType(
        name="Book",
        description="A new book from a publishing house.",
        ancestors=("Publication",),
        attributes=(
            AdvertisedAttribute("title", "str"),
            AdvertisedAttribute("published", "timestamp"),
            AdvertisedAttribute("author", "str"),
            AdvertisedAttribute("pages", "int", "Number of printed pages"),
            AdvertisedAttribute("dimensions", "list[float]", "Height, width, depth in mm", length=3),
            AdvertisedAttribute("list_price", "float"),
            AdvertisedAttribute("isbn", "str", optional=True),
        ),
        behaviours=(
            AdvertisedBehaviour("margin", "float", (), "Share of the price that is ours", opaque=True),
            AdvertisedBehaviour(
                "is_new", "bool", (Parameter("since", "timestamp"),), "Did it appear at that time or later?"
            ),
            AdvertisedBehaviour(
                "wholesale_price",
                "float",
                (Parameter("amount", "int"), Parameter("destination", "str", "A city")),
                PRICE,
            ),
            AdvertisedBehaviour(
                "references_contain", "bool", (Parameter("author", "str"),), "Does the book cite this author?"
            ),
        ),
        program=program_of(Book).hash,
    )


def test_a_type_is_a_table_for_people() -> None:
    """Names, kinds and descriptions in columns; a fixed length and a question mark where they apply."""
    assert (
        table_of(type_of(Book))
        == """\
Book (Publication): A new book from a publishing house.
  title                                           str
  published                                       timestamp
  author                                          str
  pages                                           int            Number of printed pages
  dimensions                                      float[3]       Height, width, depth in mm
  list_price                                      float
  isbn                                            str?
  margin()                                        float, opaque  Share of the price that is ours
  is_new(since: timestamp)                        bool           Did it appear at that time or later?
  wholesale_price(amount: int, destination: str)  float          Price in dollars for an order.
      destination                                                A city
  references_contain(author: str)                 bool           Does the book cite this author?"""
    )


def test_every_kind_of_field() -> None:
    """Scalars, lists, tuples of one kind, objects and Any; ClassVar is no field."""

    class Everything(Agvent):
        a: bool
        b: Int32
        c: bytes
        d: datetime
        e: list[int]
        f: tuple[str, ...]
        g: dict[str, Any]
        h: Any
        i: Annotated[float | None, "Text"]
        RATE: ClassVar[float] = 0.5

    kinds = {one.name: (one.kind, one.length, one.optional) for one in type_of(Everything).attributes}
    assert kinds == {
        "a": ("bool", 0, False),
        "b": ("int32", 0, False),
        "c": ("bytes", 0, False),
        "d": ("timestamp", 0, False),
        "e": ("list[int]", 0, False),
        "f": ("list[str]", 0, False),
        "g": ("object", 0, False),
        "h": ("any", 0, False),
        "i": ("float", 0, True),
    }


def test_the_methods_run_as_python_too() -> None:
    """A publisher calls them in its own process."""
    assert book().wholesale_price(1000, "Istanbul") == 40_900.0
    assert book().is_new(datetime(2002, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pages": "many"}, "Book.pages cannot be 'many'"),
        ({"pages": True}, "Book.pages cannot be True"),
        ({"pages": None}, "Book needs pages"),
        ({"dimensions": (1.0, 2.0)}, "Book.dimensions cannot be (1.0, 2.0)"),
        ({"published": datetime(2002, 1, 1)}, "timestamp 2002-01-01T00:00:00 has no time zone"),  # noqa: DTZ001
        ({"pages": 2**64}, "pages: 18446744073709551616 does not fit in 64 bits"),
        ({"price": 3}, "Book has no field price"),
    ],
)
def test_a_field_that_does_not_fit_is_refused(changes: dict[str, Any], message: str) -> None:
    """Kind, length, zone and range are checked when the agvent is made."""
    with pytest.raises(EventError) as raised:
        book(**changes)
    assert raised.value.message == message


SECRET = "CANARY-7731"


@pytest.mark.parametrize("annotation", [Annotated[bytes, "hidden"], Opaque[bytes], Sealed[bytes]])
@pytest.mark.parametrize("value", [SECRET, [SECRET, SECRET], {SECRET: 1}])
def test_the_value_of_a_field_that_is_not_public_is_in_no_message(annotation: Any, value: Any) -> None:
    """A publisher's messages are logged. Of its default neither."""
    name = "_key" if annotation == Annotated[bytes, "hidden"] else "key"
    leaky = type("Leaky", (Agvent,), {"__annotations__": {name: annotation}})
    with pytest.raises(EventError) as raised:
        leaky(**{name: value})
    assert raised.value.message == f"Leaky.{name} cannot be that {type(value).__name__}"
    assert SECRET not in f"{raised.value} {raised.value.hint} {raised.value.__context__}"
    with pytest.raises(ProgramError) as refused:
        type("Leaky", (Agvent,), {"__annotations__": {name: annotation}, name: value})
    assert refused.value.message == f"the default of Leaky.{name} does not fit: {raised.value.message}"


def test_a_secret_that_no_event_can_hold_is_refused_without_it() -> None:
    """An integer beyond 64 bits, a timestamp without a zone, a key that is no text."""

    class Leaky(Agvent):
        _key: Any

    for value in (77310000 * 2**64, datetime(7731, 1, 1), {7731: 1}, {"7731": object()}):  # noqa: DTZ001
        with pytest.raises(EventError) as raised:
            Leaky(_key=value)
        assert raised.value.message == "Leaky._key has a value that no event can hold"
        assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("annotation", "default", "message"),
    [
        (int, "text", "the default of Wrong.a does not fit: Wrong.a cannot be 'text'"),
        (int, None, "the default of Wrong.a cannot be None"),
        (int, 2**64, "the default of Wrong.a does not fit: a: 18446744073709551616 does not fit in 64 bits"),
        (tuple[float, float, float], (1.0,), "the default of Wrong.a does not fit: Wrong.a cannot be (1.0,)"),
        (Any, {1}, "the default of Wrong.a does not fit: a value of type set cannot be an event's"),
    ],
)
def test_a_default_is_of_its_fields_kind(annotation: Any, default: Any, message: str) -> None:
    """Or the class is refused, before anybody publishes one."""
    with pytest.raises(ProgramError) as raised:
        type("Wrong", (Agvent,), {"__annotations__": {"a": annotation}, "a": default})
    assert raised.value.message == message


def test_a_refused_default_has_its_line() -> None:
    """A field's own, and for a parameter that of its method."""
    here = inspect.getsourcelines(test_a_refused_default_has_its_line)[1]
    with pytest.raises(ProgramError, match=r"the default of Wrong.b does not fit") as raised:

        class Wrong(Agvent):
            a: int = 3
            b: int = "text"  # type: ignore[assignment]

    assert raised.value.line == here + 7
    with pytest.raises(ProgramError, match=r"the default of Called.f\(a\) cannot be 'x'") as raised:

        class Called(Agvent):
            def f(self, a: int = "x") -> int:  # type: ignore[assignment]
                return a

    assert raised.value.line == here + 13


def test_a_slot_is_no_default() -> None:
    """A class with __slots__ is an agvent class like every other."""

    class Slotted(Agvent):
        __slots__ = ("a",)
        a: int

    assert Slotted(a=3).a == 3


def test_a_field_without_a_default_must_be_given() -> None:
    """Its name and kind are said."""
    with pytest.raises(EventError, match=r"Book needs title"):
        Book(author="V. P.")  # type: ignore[call-arg]


def test_an_agvent_is_frozen() -> None:
    """What was checked is what is published."""
    with pytest.raises(EventError, match=r"Book is frozen: pages cannot change"):
        book().pages = 3  # type: ignore[misc]


def test_a_field_may_be_no_method() -> None:
    """A name stands once in a type."""
    with pytest.raises(ProgramError, match=r"Twice.margin is a field and a method"):

        class Twice(Agvent):
            margin: Opaque[float]

            def margin(self) -> float:  # type: ignore[no-redef]
                return 1.0


def test_an_annotation_that_is_no_kind_is_refused() -> None:
    """The message lists the kinds."""
    with pytest.raises(ProgramError, match=r"Wrong.a is annotated .*complex.*, which no event can hold"):

        class Wrong(Agvent):
            a: complex

    with pytest.raises(ProgramError, match=r"Mixed.a may be of several kinds"):

        class Mixed(Agvent):
            a: int | str


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (tuple[()], "Wrong.a is annotated tuple[()], which no event can hold"),
        (typing.List, "Wrong.a is annotated typing.List, which no event can hold"),  # noqa: UP006
        ([int], "Wrong.a is annotated [<class 'int'>], which no event can hold"),
        (
            list[Annotated[int, []]],
            "Wrong.a is annotated list[typing.Annotated[int, []]], which no event can hold",
        ),
        ("int |", "Wrong.a: an annotation cannot be read: Forward reference must be an expression -- got 'int |'"),
        ("inspect.nope", "Wrong.a: an annotation cannot be read: module 'inspect' has no attribute 'nope'"),
        ("Nope", "Wrong.a: an annotation names Nope, which is not there when the class is defined"),
    ],
    ids=repr,
)
def test_an_annotation_that_cannot_be_read_is_refused(annotation: Any, message: str) -> None:
    """Whatever it is: empty, a list, half an expression, a name that is not there. Of a parameter as of a field."""
    with pytest.raises(ProgramError) as raised:
        type("Wrong", (Agvent,), {"__annotations__": {"a": annotation}, "__module__": __name__})
    assert (raised.value.message, bool(raised.value.hint)) == (message, True)

    def f(self: Agvent, a: int) -> int:
        return a

    f.__annotations__["a"] = annotation
    with pytest.raises(ProgramError) as raised:
        type("Wrong", (Agvent,), {"f": f})
    assert raised.value.message == message.replace("Wrong.a is", "Wrong.f(a) is").replace("Wrong.a:", "Wrong.f:")
    assert raised.value.line == f.__code__.co_firstlineno


def test_a_field_is_refused_with_its_line() -> None:
    """Whether its annotation is no kind, or cannot be evaluated."""
    here = inspect.getsourcelines(test_a_field_is_refused_with_its_line)[1]
    with pytest.raises(ProgramError, match="which no event can hold") as raised:

        class Wrong(Agvent):
            a: int
            b: set[int]

    assert raised.value.line == here + 7
    with pytest.raises(ProgramError, match=r"Unknown\.b: an annotation names Nope") as raised:

        class Unknown(Agvent):
            a: int
            b: Nope  # type: ignore[name-defined]  # noqa: F821

    assert raised.value.line == here + 14


def test_a_kind_that_is_none_is_refused_with_the_line() -> None:
    """Of a parameter, and of a result."""
    here = inspect.getsourcelines(test_a_kind_that_is_none_is_refused_with_the_line)[1]
    with pytest.raises(ProgramError, match=r"Wrong.f\(a\) is annotated .*set.*, which no event can hold") as raised:

        class Wrong(Agvent):
            def f(self, a: set[int]) -> int:
                return len(a)

    assert raised.value.line == here + 6


def test_a_behaviour_says_what_it_takes_and_gives() -> None:
    """A missing annotation, a star, or the name of a filter's own function is refused with the line."""
    with pytest.raises(ProgramError, match=r"Silent.price does not say what it returns") as raised:

        class Silent(Agvent):
            def price(self):  # type: ignore[no-untyped-def]
                return 3

    here = inspect.getsourcelines(test_a_behaviour_says_what_it_takes_and_gives)[1]
    assert raised.value.line == here + 5
    with pytest.raises(ProgramError, match=r"Starred.price: amounts needs an annotation"):

        class Starred(Agvent):
            def price(self, *amounts: int) -> int:
                return 3

    with pytest.raises(ProgramError, match=r"Function.contains: filters have a function of that name"):

        class Function(Agvent):
            def contains(self, text: str) -> bool:
                return bool(text)


@pytest.mark.parametrize("name", ["holds", "contains"])
def test_an_opaque_field_may_not_have_the_name_of_a_function(name: str) -> None:
    """Filters call it like a behaviour, and would call the function."""
    with pytest.raises(ProgramError) as raised:
        type("Function", (Agvent,), {"__annotations__": {name: Opaque[float]}})
    assert raised.value.message == f"Function.{name}: filters have a function of that name"
    type("Public", (Agvent,), {"__annotations__": {name: float}})


def test_what_the_network_calls_takes_what_it_is_given() -> None:
    """`route` a server, `arrive` a subscriber; other parameters have defaults."""
    here = inspect.getsourcelines(test_what_the_network_calls_takes_what_it_is_given)[1]
    with pytest.raises(ProgramError) as raised:

        class Alone(Agvent):
            def route(self) -> None:
                pass

    assert (raised.value.line, raised.value.hint) == (here + 6, "write def route(self, server)")
    with pytest.raises(ProgramError) as raised:

        class Crowded(Agvent):
            def arrive(self, subscriber: Any, more: Any) -> None:
                pass

    assert (raised.value.line, raised.value.hint) == (here + 13, "write def arrive(self, subscriber)")

    class Fine(Agvent):
        def route(self, server: Any, depth: int = 0) -> None:
            pass

    assert program_of(Fine).routes


def test_versions_live_side_by_side() -> None:
    """A class with more fields is another version of its type; one with other code is the same version."""

    def first() -> type[Agvent]:
        class Tape(Agvent):
            minutes: int

            def is_long(self) -> bool:
                return self.minutes > 60

        return Tape

    def mended() -> type[Agvent]:
        class Tape(Agvent):
            minutes: int

            def is_long(self) -> bool:
                return self.minutes > 90

        return Tape

    def wider() -> type[Agvent]:
        class Tape(Agvent):
            minutes: int
            label: str = ""

            def is_long(self) -> bool:
                return self.minutes > 60

        return Tape

    types = [type_of(made()) for made in (first, mended, wider)]
    assert types[0].schema == types[1].schema != types[2].schema
    assert types[0].program == types[2].program != types[1].program


class Card(Agvent):
    """Has a field of each secrecy."""

    name: str
    tags: list[str] = []  # noqa: RUF012  copied for each
    _pin: str = "secret"
    limit: Opaque[int] = 7
    deal: Sealed[str] = "secret"


def test_an_agvent_has_copies_of_what_it_was_given() -> None:
    """What its maker changes afterwards is another list."""
    tags = ["a"]
    card = Card(name="ann", tags=tags)
    tags.append("b")
    assert card.tags == ["a"]
    assert Card(name="ann").tags is not Card(name="ann").tags


def test_an_agvent_shows_its_public_fields_and_equals_one_with_the_same_fields() -> None:
    """Nothing hidden, opaque or sealed is shown; all of it counts."""
    card = Card(name="ann")
    assert repr(card) == "Card(name='ann', tags=[])"
    assert card == Card(name="ann")
    assert card != Card(name="ann", _pin="other")
    assert card != "ann"
    assert type(card).__hash__ is None
