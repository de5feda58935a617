"""What is sold and who wants it: publications as agvents, and shops with a wish in two forms.

The filter is what a shop subscribes with. The other form is a Python function of the same meaning, which is asked of
the object that the publisher made: it is what a delivery is judged by.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Annotated, Any, Final

import msgspec

from agvent.agents.authoring.agvent import Agvent, Opaque

AUTHORS: Final = ("Valentina Plekhanova", "Ozgur Koray Sahingoz", "Nadia Erdogan")
CITED: Final = ("Alonso, E.", "Fox, G.", "Pallickara, S.")
TOPICS: Final = ("agents", "markets", "brokers", "events", "learning")
FIRST_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)
DAYS: Final = 1_500
SHIPPING = {"Istanbul": 4_000.0, "Ankara": 4_500.0}


class Publication(Agvent):
    """Something that a house prints."""

    title: Annotated[str, "Its name"]
    topic: Annotated[str, "What it is about"]
    published: Annotated[datetime, "Day of publication"]
    list_price: Annotated[float, "Dollars"]


class Book(Publication):
    """A new book from a publishing house."""

    author: Annotated[str, "Who wrote it"]
    pages: Annotated[int, "Number of printed pages"]
    margin: Annotated[Opaque[float], "Share of the price that stays with the house"]
    _references: list[str]

    def references_contain(self, author: Annotated[str, "Surname, initials"]) -> bool:
        """Does the book cite this author?"""
        return author in self._references

    def wholesale_price(self, amount: int, destination: Annotated[str, "A city"]) -> float:
        """Dollars for an order, delivered."""
        rate = 0.55 if amount >= 1_000 else 0.7
        return amount * self.list_price * rate + SHIPPING.get(destination, 9_000.0)


class Journal(Publication):
    """An issue of a journal."""

    issue: Annotated[int, "Its number"]


class Shop(msgspec.Struct, frozen=True):
    """A subscriber: its home broker, and its wish for the network and for the oracle."""

    name: str
    broker: str
    type: type[Agvent]
    filter: str
    wants: Callable[[Any], bool]

    @property
    def subscription(self) -> str:
        """The name of its one subscription in the event log."""
        return f"{self.name}/{WISH}"

    def is_due(self, publication: Agvent) -> bool:
        return isinstance(publication, self.type) and self.wants(publication)


class House(msgspec.Struct, frozen=True):
    """A publisher: its entry broker, the type it advertises, and how it makes the next one."""

    name: str
    broker: str
    type: type[Publication]
    make: Callable[[Random], Publication]


def book(random: Random) -> Book:
    topic, author = random.choice(TOPICS), random.choice(AUTHORS)
    return Book(
        title=f"{topic.title()}, volume {random.randrange(1, 40)}",
        topic=topic,
        published=FIRST_DAY + timedelta(days=random.randrange(DAYS)),
        list_price=random.randrange(5_00, 400_00) / 100,
        author=author,
        pages=random.randrange(40, 900),
        margin=random.randrange(5, 50) / 100,
        _references=random.sample(CITED, 2),
    )


def journal(random: Random) -> Journal:
    topic = random.choice(TOPICS)
    return Journal(
        title=f"Transactions on {topic}",
        topic=topic,
        published=FIRST_DAY + timedelta(days=random.randrange(DAYS)),
        list_price=random.randrange(5_00, 60_00) / 100,
        issue=random.randrange(1, 40),
    )


HOUSES: Final = (House("idea-group", "AS1", Book, book), House("ieee", "AS11", Journal, journal))

WISH: Final = "wish"

SHOPS: Final = (
    Shop(
        "istanbul",
        "AS12",
        Book,
        "author = 'Valentina Plekhanova' AND pages > 200 AND published > TIMESTAMP '2002-01-01' "
        "AND references_contain('Alonso, E.') AND wholesale_price(1000, 'Istanbul') < 150000",
        lambda one: (
            one.author == "Valentina Plekhanova"
            and one.pages > 200
            and one.published > datetime(2002, 1, 1, tzinfo=UTC)
            and one.references_contain("Alonso, E.")
            and one.wholesale_price(1000, "Istanbul") < 150_000
        ),
    ),
    Shop(
        "campus",
        "AS12",
        Publication,
        "topic IN ('events', 'brokers') AND list_price <= 100",
        lambda one: one.topic in ("events", "brokers") and one.list_price <= 100,
    ),
    Shop("library", "AS3", Publication, "topic = 'agents'", lambda one: one.topic == "agents"),
    Shop(
        "students",
        "AS5",
        Book,
        "list_price < 60 AND pages BETWEEN 100 AND 400",
        lambda one: one.list_price < 60 and 100 <= one.pages <= 400,
    ),
    Shop("reader", "AS7", Journal, "issue >= 10", lambda one: one.issue >= 10),
    Shop("investor", "AS9", Book, "margin() > 0.3 AND pages > 400", lambda one: one.margin > 0.3 and one.pages > 400),
    Shop(
        "antiquary",
        "AS10",
        Book,
        "published < TIMESTAMP '2001-01-01' OR author = 'Nadia Erdogan'",
        lambda one: one.published < datetime(2001, 1, 1, tzinfo=UTC) or one.author == "Nadia Erdogan",
    ),
)
"""The first one's wish is figure 6 of seed 002."""
