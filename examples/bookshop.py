"""The publishing house of the Agvent System (seed 002): books that are agents.

python examples/bookshop.py

A publishing house announces books as agvents. Shops subscribe to what a book is (its attributes) and to what it
answers (its behaviours). What the house keeps to itself is in no message that anybody on the way can read.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Annotated, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent import Agvent, Opaque, Subscriptions
from agvent.agents.agvent import Sealed
from agvent.agents.asking import Came, asked
from agvent.agents.code import Programs, sign
from agvent.agents.hiding import Hider, HostKeys
from agvent.agents.portable import program_of
from agvent.agents.publishing import published
from agvent.agents.sandbox import Arrival, Task
from agvent.agents.sealing import Sealer, Unsealer
from agvent.agents.table import table_of
from agvent.agents.types import type_of
from agvent.errors import SecretError
from agvent.sandbox.host import SandboxHost
from agvent.wire.codec import decode_event, encode_event
from agvent.wire.messages import Call

# The publisher writes a class. ----------------------------------------------------------------------------------------

SHIPPING = {"Istanbul": 4_000.0, "Ankara": 4_500.0}


class Book(Agvent):
    """A new book from a publishing house."""

    author: Annotated[str, "Who wrote it"]
    name: Annotated[str, "Its title"]
    pages: Annotated[int, "Number of printed pages"]
    dimensions: Annotated[tuple[float, float, float], "Height, width and depth in mm"]
    publisher: Annotated[str, "The house"]
    published: Annotated[datetime, "Day of publication"]
    isbn: Annotated[int, "Number of the edition"]
    list_price: Annotated[float, "Dollars"]
    margin: Annotated[Opaque[float], "Share of the price that stays with the house"]
    contract: Annotated[Sealed[str], "What the author gets: for partners only"]
    _references: list[str]
    _contents: list[str]

    def references_contain(self, author: Annotated[str, "Surname, initials"]) -> bool:
        """Does the book cite this author?"""
        return author in self._references

    def contents_contain(self, topic: str) -> bool:
        """Is there a chapter about this?"""
        return any(topic.lower() in chapter.lower() for chapter in self._contents)

    def wholesale_price(self, amount: int, destination: Annotated[str, "A city"]) -> float:
        """Dollars for an order, delivered."""
        rate = 0.55 if amount >= 1_000 else 0.7
        return amount * self.list_price * rate + SHIPPING.get(destination, 9_000.0)

    def arrive(self, subscriber: Any) -> None:
        """Makes an offer to the shop, and tells the house that it did."""
        amount = subscriber.context.get("usual_order", 10)
        city = subscriber.context.get("city", "")
        subscriber.tell({"offer": amount, "dollars": self.wholesale_price(amount, city)})
        subscriber.answer({"offered_to": subscriber.name, "copies": amount})


def book(author: str, name: str, pages: int, list_price: float, references: list[str]) -> Book:
    return Book(
        author=author,
        name=name,
        pages=pages,
        dimensions=(240.0, 160.0, 30.0),
        publisher="Idea Group",
        published=datetime(2002, 9, 1, tzinfo=UTC),
        isbn=1_930_708_41,
        list_price=list_price,
        margin=0.31,
        contract="12 % to the author",
        _references=references,
        _contents=["What agents learn", "Markets of agents"],
    )


# What each shop wants: figure 6 of the paper, and two others. ---------------------------------------------------------

SUBSCRIPTIONS = {
    "istanbul": """
        author = 'Valentina Plekhanova' AND pages > 200 AND published > TIMESTAMP '2002-01-01'
        AND references_contain('Alonso, E.') AND wholesale_price(1000, 'Istanbul') < 150000
    """,
    "markets": "contents_contain('markets') AND list_price < 50",
    "investor": "margin() > 0.3 AND pages > 400",
}


def main() -> None:
    # Keys. A network has one key for its sandbox hosts; a house signs its code; a shop has a key of its own.
    hosts = HostKeys([X25519PrivateKey.generate()])
    house = Ed25519PrivateKey.generate()
    house_public = house.public_key().public_bytes_raw()
    partner, stranger = Unsealer(X25519PrivateKey.generate()), Unsealer(X25519PrivateKey.generate())

    print(table_of(type_of(Book)), end="\n\n")  # what `advertise` sends to everybody: figure 5 of the paper

    hider = Hider(hosts.public, os.urandom)
    sealer = Sealer("house", "Book", house, os.urandom)
    grant = sealer.admit("partner", partner.public)
    books = [
        book("Valentina Plekhanova", "Intelligent Agent Software Engineering", 320, 80.0, ["Alonso, E."]),
        book("Valentina Plekhanova", "Machine Learning", 450, 380.0, ["Alonso, E."]),
        book("Ozgur Koray Sahingoz", "Agents and Events", 240, 45.0, []),
    ]
    events = [published(one, "house", hider=hider, sealer=sealer) for one in books]
    came = [Came("house", encode_event(event)) for event in events]

    shops = Subscriptions()
    for shop, wanted in SUBSCRIPTIONS.items():
        shops.add(shop, wanted, type="Book")

    with SandboxHost(Programs({"house": frozenset({house_public})}), hosts, workers=1) as host:
        host.admit(sign(program_of(Book), "house", house))

        # Attributes are matched by the index; the rest is asked of the books, in the sandbox.
        found, _ = asked(came, lambda number, answers: shops.match(events[number], answers), host)
        for one, wanting in zip(books, found, strict=True):
            print(f"{one.name}: {', '.join(wanting) or 'nobody'}")

        # The book arrives at the shop in Istanbul and makes its offer; the shop asks for another price.
        arrived = host.arrive(Arrival("house", came[0].event, "istanbul", {"city": "Istanbul", "usual_order": 200}))
        ((price,),) = host.run([Task("house", came[0].event, (Call("wholesale_price", (5_000, "Ankara")),))])
        print(f"\nthe shop is told {arrived.told[0]}\nthe house is told {arrived.answered[0]}")
        print(f"5,000 copies to Ankara: {price.value:,.0f} dollars")

    # What is hidden is not in what travels; what is sealed is for partners.
    print(f"\nthe event names the references: {b'Alonso' in came[0].event}")
    cargo = decode_event(came[0].event).cargo
    assert cargo is not None
    partner.take(grant, house_public)
    print(f"the partner reads {partner.open('house', 'Book', cargo.sealed)}")
    try:
        stranger.open("house", "Book", cargo.sealed)
    except SecretError as error:
        print(f"the stranger reads nothing: {error}")


if __name__ == "__main__":
    main()
