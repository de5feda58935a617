"""A client's sealed fields: whom it admits as a publisher, and what it opens as a subscriber.

A seal grant travels as an event on the topic SEALS whose only destination is the subscriber. Both sides know each
other's public key by other means than the brokers, so that no broker can put its own in their place.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.secrecy.sealed_fields import Sealer, SealGrant, Unsealer, decode_grant, encode_grant
from agvent.errors import SecretError
from agvent.event import Event
from agvent.net.client.deliveries import Delivery, GapNotice
from agvent.net.client.keyring import Keyring, key_of
from agvent.net.client.open_subscription import OpenSubscription

if TYPE_CHECKING:
    from agvent.net.client.client import Client

SEALS: Final = "agvent/seals"
"""The topic of seal grants, and the id of a subscriber's subscription to them."""


class Seals:
    """The seals of one client."""

    def __init__(self, client: Client, keyring: Keyring) -> None:
        self._client, self._keyring = client, keyring
        self._sealers: dict[str, Sealer] = {}
        self._unsealer = Unsealer(keyring.sealing)
        self._grants: OpenSubscription | None = None
        for signing_key, grant in keyring.ring.grants:
            self._unsealer.take(decode_grant(grant), signing_key)

    # A publisher's side

    def sealer(self, type: str) -> Sealer:
        """Seals the fields of a type, with the key that the last process used if there is a key file."""
        if type not in self._sealers:
            before = self._keyring.ring.seals.get(type)
            self._sealers[type] = Sealer(self._client.name, type, self._keyring.signing, os.urandom, before)
            self._keep(type)
        return self._sealers[type]

    async def admit(self, cls: type[Agvent], subscriber: str, seal_key: str) -> None:
        """Lets a subscriber read what is sealed with the seal key in use and with later ones; `rotate` first, if what
        was published before is not for it."""
        await self._send([self.sealer(cls.__name__).admit(subscriber, key_of(seal_key))])

    async def revoke(self, cls: type[Agvent], subscriber: str) -> None:
        """Lets a subscriber read nothing that is published from now on; the others get a new seal key."""
        sealer = self.sealer(cls.__name__)
        if subscriber not in sealer.admitted:
            raise SecretError(f"{subscriber} is not admitted to {cls.__name__}")
        await self._send(list(sealer.revoke(subscriber)))

    async def rotate(self, cls: type[Agvent]) -> None:
        """A new seal key for those who are admitted."""
        await self._send(list(self.sealer(cls.__name__).rotate()))

    async def _send(self, grants: list[SealGrant]) -> None:
        for type in self._sealers:
            self._keep(type)
        for grant in grants:
            event = Event(topic=SEALS, attributes={"type": grant.type, "grant": encode_grant(grant)})
            await self._client.publish(event, destinations=[grant.subscriber])

    def _keep(self, type: str) -> None:
        self._keyring.ring.seals[type] = self._sealers[type].state()
        self._keyring.save()

    # A subscriber's side

    async def trust(self, publisher: str, signing_key: str) -> None:
        """Takes the seal grants of a publisher that signs with this key; those that it sends from now on."""
        self._keyring.ring.trusted[publisher] = key_of(signing_key)
        self._keyring.save()
        await self._listen()

    async def _listen(self) -> OpenSubscription:
        if self._grants is None:
            self._grants = await self._client.subscribe(topic=SEALS, id=SEALS)
        return self._grants

    async def open(self, delivery: Delivery) -> dict[str, Any]:
        """The sealed fields of an agvent; a SecretError if its publisher did not admit this client."""
        for item in (await self._listen()).drain():
            self._take(item)
            item.acknowledge()
        cargo = delivery.event.cargo
        if cargo is None or not cargo.sealed or delivery.event.type is None:
            raise SecretError("the event has no sealed fields")
        return self._unsealer.open(delivery.id.publisher, delivery.event.type, cargo.sealed)

    def _take(self, item: Delivery | GapNotice) -> None:
        """Takes a grant, if it is one of a publisher that is trusted; what is none is nobody's loss."""
        content = item.event.attributes.get("grant") if isinstance(item, Delivery) else None
        if not isinstance(content, bytes):
            return
        try:
            grant = decode_grant(content)
            signing_key = self._keyring.ring.trusted.get(grant.publisher, b"")
            self._unsealer.take(grant, signing_key)
        except SecretError:
            return
        self._keyring.ring.grants.append((signing_key, encode_grant(grant)))
        self._keyring.save()
