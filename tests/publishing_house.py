"""The publishing house of seed 002: the agvent class that tests of agents and sandboxes share."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Annotated, Any

from agvent.agents.authoring.agvent import Agvent, Opaque, Sealed

SHIPPING = {"Istanbul": 900.0, "Ankara": 1100.0}
CANARY = "Canary, T."


def shipping(city: str) -> float:
    """Dollars for any number of copies."""
    return SHIPPING.get(city, 1500.0)


class Publication(Agvent):
    """Something printed."""

    title: str
    published: datetime
    DISCOUNT = 0.9

    def is_new(self, since: datetime) -> bool:
        """Did it appear at that time or later?"""
        return self.published >= since

    def wholesale_price(self, amount: int, destination: str) -> float:
        """Price in dollars for an order."""
        return amount * self.DISCOUNT + shipping(destination)


class Book(Publication):
    """A new book from a publishing house."""

    author: str
    pages: Annotated[int, "Number of printed pages"]
    dimensions: Annotated[tuple[float, float, float], "Height, width, depth in mm"]
    list_price: float
    isbn: str | None = None
    margin: Annotated[Opaque[float], "Share of the price that is ours"] = 0.25
    contract: Sealed[str] = ""
    _references: list[str] = []
    DISCOUNT = 0.5

    def references_contain(self, author: str) -> bool:
        """Does the book cite this author?"""
        return author in self._references

    def wholesale_price(self, amount: int, destination: Annotated[str, "A city"] = "Ankara") -> float:
        """Price in dollars for an order."""
        books = math.floor(amount * self.list_price * self.DISCOUNT)
        return books + super().wholesale_price(0, destination)

    def arrive(self, subscriber: Any) -> None:
        subscriber.tell({"hello": subscriber.name, "price": self.list_price})
        subscriber.answer([subscriber.context.get("city"), len(self._references)])


def book(**changes: Any) -> Book:
    """A book that the subscription of figure 6 wants."""
    fields: dict[str, Any] = {
        "title": "Intelligent Agents",
        "published": datetime(2002, 5, 1, tzinfo=UTC),
        "author": "Valentina Plekhanova",
        "pages": 320,
        "dimensions": (240.0, 160.0, 30.0),
        "list_price": 80.0,
        "contract": "15 % to the author",
        "_references": ["Alonso, E.", CANARY],
    }
    return Book(**fields | changes)
