"""Types as data: what their version depends on, and what cannot be one."""

from __future__ import annotations

import pytest

from agvent.errors import EventError
from agvent.types import AdvertisedAttribute, AdvertisedBehaviour, AgventType, Parameter, unadvertised

PAGES = AdvertisedAttribute("pages", "int", "Number of printed pages")
AUTHOR = AdvertisedAttribute("author", "str")
PRICE = AdvertisedBehaviour("price", "float", (Parameter("amount", "int"),))


def test_the_version_is_of_what_filters_can_use() -> None:
    """Order and descriptions leave the version as it is; a name, a kind, a parameter or an ancestor changes it."""
    book = AgventType(name="Book", attributes=(PAGES, AUTHOR), behaviours=(PRICE,), ancestors=("Item",))
    same = AgventType(
        name="Book",
        attributes=(AUTHOR, AdvertisedAttribute("pages", "int")),
        behaviours=(AdvertisedBehaviour("price", "float", (Parameter("amount", "int", "Copies"),), "In dollars"),),
        ancestors=("Item",),
        description="A book.",
    )
    others = [
        AgventType(name="Book", attributes=(PAGES,), behaviours=(PRICE,), ancestors=("Item",)),
        AgventType(
            name="Book",
            attributes=(AdvertisedAttribute("pages", "float"), AUTHOR),
            behaviours=(PRICE,),
            ancestors=("Item",),
        ),
        AgventType(
            name="Book",
            attributes=(PAGES, AUTHOR),
            behaviours=(AdvertisedBehaviour("price", "float"),),
            ancestors=("Item",),
        ),
        AgventType(name="Book", attributes=(PAGES, AUTHOR), behaviours=(PRICE,)),
    ]
    assert book.schema == same.schema
    assert len({book.schema, *(other.schema for other in others)}) == 5


def test_what_nobody_advertised_has_one_version() -> None:
    """Types without an advertisement, and events without a type, have the version of the empty schema."""
    assert unadvertised("Book").schema == unadvertised(None).schema == AgventType(name="x").schema


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ((AdvertisedAttribute("pages", "number"),), "Book.pages has the unknown kind 'number'"),
        ((AdvertisedAttribute("$type", "str"),), "type 'Book': '$type' cannot be a name"),
        ((AdvertisedAttribute("", "str"),), "type 'Book': '' cannot be a name"),
        ((PAGES, PAGES), "type 'Book' has two members named 'pages'"),
    ],
)
def test_what_cannot_be_a_type(attributes: tuple[AdvertisedAttribute, ...], message: str) -> None:
    """An unknown kind, a reserved or empty name and a name that stands twice are refused."""
    with pytest.raises(EventError) as caught:
        AgventType(name="Book", attributes=attributes)
    assert caught.value.message == message
