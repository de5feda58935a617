"""What a filter asks of an advertised type that it cannot answer."""

from __future__ import annotations

import pytest

from agvent.agents.authoring.agvent import Agvent, Opaque
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.filter_warnings import warnings_of
from agvent.filters.sql import parse_sql
from agvent.types import AgventType


class Mag(Agvent):
    """A magazine."""

    title: str
    margin: Opaque[float]

    def cites(self, author: str) -> bool:
        return author == self.title

    def price(self, amount: int, city: str = "Oslo") -> float:
        return float(amount + len(city))


class Weekly(Mag):
    """A subtype with a behaviour of its own."""

    def day(self) -> int:
        return len(self.title)


TYPES = (type_of(Mag), type_of(Weekly))


@pytest.mark.parametrize(
    ("filter", "warning"),
    [
        ("cite('x')", "Mag has no behaviour cite: did you mean cites?"),
        ("cites('x', 1)", "Mag has cites(author: str), which does not accept these arguments"),
        ("cites(3)", "Mag has cites(author: str), which does not accept these arguments"),
        ("title() = 'a'", "title is an attribute of Mag: write it without ()"),
        ("margin > 0.1", "margin is a behaviour of Mag: write margin()"),
        ("titel = 'a' OR titel = 'b'", "Mag has no attribute titel: did you mean title?"),
        ("zzz = 1", "Mag has no attribute zzz"),
    ],
)
def test_what_no_advertised_version_has_is_named(filter: str, warning: str) -> None:
    """Once, with the nearest name that there is."""
    assert warnings_of(parse_sql(filter), "Mag", TYPES) == (warning,)


@pytest.mark.parametrize(
    "filter",
    [
        "cites('x') AND title = 'a' AND margin() > 0.1",
        "price(3) < 5 OR price(3, 'Rome') < 5 OR price(day(), title) < 5",
        "day() = 3",
        "$topic = 'a' AND contains(title, 'x')",
    ],
)
def test_what_one_of_them_has_is_not(filter: str) -> None:
    """A default may stand for an argument, and a subtype may have what the type has not."""
    assert warnings_of(parse_sql(filter), "Mag", TYPES) == ()


def test_nothing_is_said_of_what_is_not_known() -> None:
    """A type that nobody advertises yet, or somebody advertises by its name alone."""
    wanted = parse_sql("zzz = 1 AND cite('x')")
    assert warnings_of(wanted, "Mag", ()) == ()
    assert warnings_of(wanted, "Mag", TYPES[1:]) == ()
    assert warnings_of(wanted, "Mag", (*TYPES, AgventType(name="Mag"))) == ()
