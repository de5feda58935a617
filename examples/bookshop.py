"""The publishing house of the Agvent System (seed 002): books that are agents.

python examples/bookshop.py

A publishing house announces books as agvents, over a broker that runs here. Shops subscribe to what a book is (its
attributes) and to what it answers (its behaviours). Books arrive at a shop and make an offer. What the house keeps to
itself is in no message that anybody on the way can read.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated, Any

from agvent import Agvent, Opaque, Sealed, connect, local_broker
from agvent.agents.authoring.type_table import table_of
from agvent.errors import SecretError
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription

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


BOOKS = [
    book("Valentina Plekhanova", "Intelligent Agent Software Engineering", 320, 80.0, ["Alonso, E."]),
    book("Valentina Plekhanova", "Machine Learning", 450, 380.0, ["Alonso, E."]),
    book("Ozgur Koray Sahingoz", "Agents and Events", 240, 45.0, []),
]


async def next_of(subscription: OpenSubscription) -> Delivery:
    """What comes next; a gap notice would say what does not come."""
    item = await anext(subscription)
    assert isinstance(item, Delivery)
    return item


async def trade(url: str) -> None:
    async with (
        connect(url, name="house") as house,
        connect(url, name="istanbul", context={"city": "Istanbul", "usual_order": 200}) as istanbul,
        connect(url, name="markets") as markets,
        connect(url, name="investor") as investor,
    ):
        # The class is the type: its code travels with the advertisement, signed, and everybody sees figure 5.
        await house.advertise(Book)
        [found] = await istanbul.types("Book")
        print(table_of(found.type), end="\n\n")

        # Istanbul lets books arrive, and may read what is sealed; the two told each other their public keys.
        wanted = {
            shop: await shop.subscribe(SUBSCRIPTIONS[shop.name], type="Book", admit=shop is istanbul)
            for shop in (istanbul, markets, investor)
        }
        answers = await house.subscribe(topic="agvent/answers")
        await istanbul.seals.trust("house", house.keyring.signing_key)
        await house.seals.admit(Book, "istanbul", istanbul.keyring.seal_key)

        # Attributes are matched by the index; the rest is asked of the books, in the sandbox beside the broker.
        await house.publish_batch(BOOKS)
        came = {shop: await next_of(books) for shop, books in wanted.items()}
        for shop, delivery in came.items():
            print(f"{shop.name} gets {delivery.event.attributes['name']}")

        # The book has arrived at Istanbul and made its offer; the shop asks it for another price.
        delivery = came[istanbul]
        price = await delivery.agvent.wholesale_price(5_000, "Ankara")
        print(f"\nthe shop is told {delivery.messages[0]}")
        print(f"the house is told {(await next_of(answers)).event.attributes['answer']}")
        print(f"5,000 copies to Ankara: {price:,.0f} dollars")
        await delivery.dispose()

        # What is hidden is not in what travels; what is sealed is for those whom the house admits.
        print(f"\nwhat came names the references: {'Alonso' in repr(delivery.event)}")
        print(f"istanbul reads {await istanbul.seals.open(delivery)}")
        try:
            await markets.seals.open(came[markets])
        except SecretError:
            print("markets was not admitted, and reads nothing")


def main() -> None:
    with local_broker() as url:
        asyncio.run(trade(url))


if __name__ == "__main__":
    main()
