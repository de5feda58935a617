"""A librarian: a client that keeps the documents of a realm, and answers questions about them and about what is
advertised.

Its subscriptions stand while it is away, so documents wait for it; questions expire. What it has acknowledged is on its
shelf.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

from msgspec.structs import asdict, replace

from agvent.errors import AgventError, NetworkFault
from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.net.client.advertising import AdvertisedType
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Delivery
from agvent.net.client.discovery import ANSWER, DOCUMENT, QUESTION, RESERVED, FoundDocument, check_realm
from agvent.net.client.open_subscription import OpenSubscription
from agvent.store.document_shelf import Shelf, StoredDocument
from agvent.store.type_tables import advertisement_xml
from agvent.types import Advertisement


class Librarian:
    """Of a realm it knows the documents, and the advertisements of its broker; without a realm, of all brokers."""

    def __init__(self, client: Client, shelf: Shelf, *, realm: str = "") -> None:
        check_realm(realm)
        self.client, self.shelf, self.realm = client, shelf, realm

    async def run(self, *, ready: Callable[[], None] = lambda: None) -> None:
        """Answers until it is cancelled. Calls `ready` as soon as questions reach it."""
        parts = self.realm.split("/") if self.realm else []
        above = ["", *("/".join(parts[:count]) for count in range(1, len(parts) + 1))]
        wanted = ", ".join(f"'{realm}'" for realm in above)
        questions = await self.client.subscribe(f"realm IN ({wanted})", type=QUESTION.name, id="questions")
        documents = await self.client.subscribe(f"realm = '{self.realm}'", type=DOCUMENT.name, id="documents")
        await self.client.advertise(replace(ANSWER, description=self.realm))
        ready()
        await asyncio.gather(self._answer_all(questions), self._shelve_all(documents))

    async def _shelve_all(self, documents: OpenSubscription) -> None:
        async for item in documents:
            if isinstance(item, Delivery):
                await asyncio.to_thread(self.shelf.put, _document(item))

    async def _answer_all(self, questions: OpenSubscription) -> None:
        async for item in questions:
            if isinstance(item, Delivery):
                await self._answer(item)

    async def _answer(self, item: Delivery) -> None:
        """Everything that is found, and then that this was all."""
        said = item.event.attributes
        asker, question = item.id.publisher, str(said.get("question", ""))
        try:
            found = await self._found(str(said.get("query", "")), str(said.get("language", "")))
            complaint = ""
        except NetworkFault:
            raise
        except AgventError as error:
            found, complaint = [], str(error)
        events = [_event(question, one) for one in found]
        last = {"question": question, "done": True, "complaint": complaint}
        events.append(Event(type=ANSWER.name, attributes=last))
        await self.client.publish_batch(events, destinations=[asker])

    async def _found(self, query: str, language: str) -> list[FoundDocument]:
        condition = Subscription(id="query", language=language, filter=query).condition()
        advertised = await self.client.types()

        def matching() -> list[FoundDocument]:
            return [one for one in self._known(advertised) if evaluate(condition, _looked_at(one)) is True]

        return await asyncio.to_thread(matching)

    def _known(self, advertised: list[AdvertisedType]) -> Iterator[FoundDocument]:
        for one in self.shelf.standing():
            yield FoundDocument(
                source="document",
                name=one.document,
                version=str(one.version),
                owner=one.owner,
                broker=self.client.broker,
                realm=self.realm,
                stored_at=one.stored_at,
                xml=one.xml or "",
            )
        for found in advertised:
            is_ours = not self.realm or found.broker == self.client.broker
            if is_ours and not found.type.name.startswith(RESERVED):
                yield self._advertisement(found)

    def _advertisement(self, found: AdvertisedType) -> FoundDocument:
        said = Advertisement(
            type=found.type,
            publisher=found.publisher,
            broker=found.broker,
            realm=self.realm,
            advertised_at=datetime.now(UTC),
        )
        return FoundDocument(
            source="advertisement",
            name=found.type.name,
            version=found.type.schema,
            owner=found.publisher,
            broker=found.broker,
            realm=self.realm,
            stored_at=None,
            xml=advertisement_xml(said),
        )


def _document(item: Delivery) -> StoredDocument:
    event, owner = item.event, item.id.publisher
    name = f"{owner}/{event.attributes.get('document', '')}"
    return StoredDocument(name, item.id.sequence, owner, datetime.now(UTC), event.xml)


def _looked_at(finding: FoundDocument) -> Event:
    """What a query is put to."""
    facts = {name: value for name, value in asdict(finding).items() if name != "xml" and value is not None}
    return Event(attributes=facts, xml=finding.xml)


def _event(question: str, finding: FoundDocument) -> Event:
    facts = {name: value for name, value in asdict(finding).items() if name != "xml" and value is not None}
    return Event(type=ANSWER.name, attributes={"question": question, **facts}, xml=finding.xml)
