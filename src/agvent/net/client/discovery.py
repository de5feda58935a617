"""Live discovery (Narada §7.3): a question travels as an event to the librarians of its realm, whose answers come back.

A realm is a path, such as `eu/ankara`. A question about `eu` is for librarians of `eu` and of what begins with `eu/`:
each has subscribed to the questions about its realm and those above it, so brokers carry it to no others.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any, Final

import msgspec

from agvent.errors import CallerError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.store.document_shelf import DOCUMENT_TYPE
from agvent.types import AdvertisedAttribute, AgventType

RESERVED: Final = "agvent."
"""Types of this protocol begin so, and are not found by it."""

WAIT_SECONDS: Final = 5.0


def _type(name: str, description: str, /, **kinds: str) -> AgventType:
    attributes = tuple(AdvertisedAttribute(attribute, kind) for attribute, kind in kinds.items())
    return AgventType(name=f"{RESERVED}{name}", attributes=attributes, description=description)


QUESTION: Final = _type("Question", "A query.", question="str", realm="str", language="str", query="str")
DOCUMENT: Final = _type(
    DOCUMENT_TYPE.removeprefix(RESERVED), "XML to be found; without XML it is withdrawn.", document="str", realm="str"
)
ANSWER: Final = _type(
    "Answer",
    "",  # a librarian puts its realm here
    question="str",
    source="str",
    name="str",
    version="str",
    owner="str",
    broker="str",
    realm="str",
    stored_at="timestamp",
    done="bool",
    complaint="str",
)


class FoundDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document or an advertisement that a query is true of."""

    source: str
    name: str
    version: str
    owner: str
    broker: str
    realm: str
    stored_at: datetime | None
    xml: str


class Discovered(msgspec.Struct, frozen=True):
    """What was found, and the librarians that have not answered in time."""

    found: list[FoundDocument]
    pending: tuple[str, ...]


def is_within(realm: str, asked: str) -> bool:
    """Does a question about one realm concern another?

    >>> is_within("eu/ankara", "eu"), is_within("europe", "eu"), is_within("eu", "")
    (True, False, True)
    """
    return asked in ("", realm) or realm.startswith(f"{asked}/")


def check_realm(realm: str) -> None:
    if realm and (any(not part for part in realm.split("/")) or not realm.isprintable() or "'" in realm):
        raise CallerError(f"{realm!r} is not a realm", hint="write a path, such as eu/ankara")


async def librarians(client: Client) -> dict[str, str]:
    """The librarians of the network, each with its realm."""
    return {found.publisher: found.type.description for found in await client.types(ANSWER.name)}


async def discover(
    client: Client, query: str, *, language: str = "xpath", realm: str = "", wait_s: float = WAIT_SECONDS
) -> Discovered:
    """Asks the librarians of a realm for what a query is true of: XPath over the XML of documents and advertisements,
    another language over `source`, `name`, `version`, `owner`, `broker` and `realm`."""
    Subscription(id="query", language=language, filter=query).condition()
    check_realm(realm)
    question = token_hex(8)
    answers = await client.subscribe(f"question = '{question}'", type=ANSWER.name, id=f"answers-{question}")
    try:
        await client.advertise(QUESTION)
        asked = {name for name, its in (await librarians(client)).items() if is_within(its, realm)}
        words = {"question": question, "realm": realm, "language": language, "query": query}
        expires = datetime.now(UTC) + timedelta(seconds=wait_s)
        await client.publish(Event(type=QUESTION.name, attributes=words), expires=expires)
        found = await _heard(answers, asked, wait_s)
    finally:
        await client.unsubscribe(answers)
    return Discovered(_once(found), tuple(sorted(asked)))


async def _heard(answers: OpenSubscription, asked: set[str], wait_s: float) -> list[FoundDocument]:
    """What is answered until all who were asked have, or the time is over: then `asked` are those who have not."""
    found: list[FoundDocument] = []
    with suppress(TimeoutError):
        async with asyncio.timeout(wait_s):
            while asked:
                await _hear(answers, asked, found)
    return found


async def _hear(answers: OpenSubscription, asked: set[str], found: list[FoundDocument]) -> None:
    """One answer: something that was found, or a librarian's last word."""
    item = await anext(answers)
    if not isinstance(item, Delivery):
        return
    said = item.event.attributes
    if said.get("complaint"):
        raise CallerError(f"{item.id.publisher}: {said['complaint']}")
    if said.get("done"):
        asked.discard(item.id.publisher)
    else:
        facts = {name: said.get(name) for name in FoundDocument.__struct_fields__ if name != "xml"}
        found.append(msgspec.convert({**facts, "xml": item.event.xml or ""}, FoundDocument))


def _once(found: list[FoundDocument]) -> list[FoundDocument]:
    """By name. Two librarians may know the same advertisement; a document is of one realm."""
    keys = {
        (one.source, one.name, one.realm if one.source == "document" else "", one.version, one.owner, one.broker): one
        for one in found
    }
    return [keys[key] for key in sorted(keys)]


async def store_document(client: Client, name: str, xml: str | None, *, realm: str = "") -> None:
    """Gives a document to the librarian of a realm, to be found as `client/name`; without XML it is withdrawn."""
    check_realm(realm)
    if realm not in (await librarians(client)).values():
        raise CallerError(f"no librarian serves the realm {realm!r}", hint=f"agvent librarian --realm {realm}")
    await client.advertise(DOCUMENT)
    words: dict[str, Any] = {"document": name, "realm": realm}
    await client.publish(Event(type=DOCUMENT.name, attributes=words, xml=xml))
