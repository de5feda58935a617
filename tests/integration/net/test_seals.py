"""Sealed fields over the network: who was admitted reads them, whatever processes end; nobody else can."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agvent import connect
from agvent.agents.secrecy.sealed_fields import Sealer, encode_grant
from agvent.errors import CallerError, EnvironmentFault, SecretError
from agvent.event import Event
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Delivery
from agvent.net.client.keyring import Keyring
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.seals import SEALS
from agvent.net.fleet.local import local_broker
from tests.publishing_house import Book, book
from tests.sandboxes import random


async def contract(client: Client, subscription: OpenSubscription) -> str:
    """What the next book's sealed field says to a client; why not, if it says nothing."""
    delivery = await anext(subscription)
    assert isinstance(delivery, Delivery)
    try:
        fields = await client.seals.open(delivery)
    except SecretError as error:
        return error.message.split(" for ")[0]
    return str(fields["contract"])


async def admitted_and_revoked(url: str, folder: Path) -> None:
    house_keys = Keyring(folder / "house.keys")
    async with connect(url, name="house", key_file=folder / "house.keys") as house:
        await house.advertise(Book)
        async with (
            connect(url, name="ally", key_file=folder / "ally.keys") as ally,
            connect(url, name="bob") as bob,
            connect(url, name="eve") as eve,
        ):
            everybody = ally, bob, eve
            books = [await one.subscribe(type="Book", id="books") for one in everybody]
            for one in everybody:
                await one.seals.trust("house", house_keys.signing_key)
            for one in (ally, bob):
                await house.seals.admit(Book, one.name, one.keyring.seal_key)
            await house.publish(book(contract="first"))
            said = [await contract(one, own) for one, own in zip(everybody, books, strict=True)]
            assert said == ["first", "first", "no grant"]
            await house.seals.revoke(Book, "bob")
            await house.publish(book(contract="second"))
            said = [await contract(one, own) for one, own in zip(everybody, books, strict=True)]
            assert said == ["second", "no grant", "no grant"]
            with pytest.raises(SecretError, match="bob is not admitted to Book"):
                await house.seals.revoke(Book, "bob")


async def later(url: str, folder: Path) -> None:
    """Other processes of the same names, with the same key files: no grant is sent again."""
    async with (
        connect(url, name="house", key_file=folder / "house.keys") as house,
        connect(url, name="ally", key_file=folder / "ally.keys") as ally,
    ):
        books = await ally.subscribe(type="Book", id="books")
        await house.advertise(Book)
        await house.publish(book(contract="third"))
        assert [await contract(ally, books) for _ in range(2)] == ["second", "third"]  # the second was not acknowledged
        await house.seals.rotate(Book)
        await house.publish(book(contract="fourth"))
        assert await contract(ally, books) == "fourth"


def test_the_admitted_read_and_the_others_cannot(tmp_path: Path) -> None:
    """Who was never admitted, or no more; with key files the admitted read on across processes."""
    with local_broker() as url:
        asyncio.run(admitted_and_revoked(url, tmp_path))
        asyncio.run(later(url, tmp_path))


async def forged(url: str) -> None:
    async with connect(url, name="house") as house, connect(url, name="ann") as ann, connect(url, name="eve") as eve:
        books = await ann.subscribe(type="Book")
        await ann.seals.trust("house", house.keyring.signing_key)
        sealer = Sealer("house", "Book", eve.keyring.signing, random)
        grant = encode_grant(sealer.admit("ann", bytes.fromhex(ann.keyring.seal_key)))
        for content in (grant, b"none", 7):
            await eve.publish(Event(topic=SEALS, attributes={"grant": content}), destinations=["ann"])
        await house.advertise(Book)
        await house.publish(book())
        assert await contract(ann, books) == "no grant"
        plain = await ann.subscribe("n = 1")
        await house.publish({"n": 1})
        assert await contract(ann, plain) == "the event has no sealed fields"


def test_a_grant_of_another_is_not_taken() -> None:
    """Only what the publisher signed counts, and it is told from what is no grant at all."""
    with local_broker() as url:
        asyncio.run(forged(url))


def test_keys_are_kept_in_a_file_of_their_owner(tmp_path: Path) -> None:
    """The same each time; a damaged file, and a text that is no key, are refused."""
    file = tmp_path / "ann.keys"
    first = Keyring(file)
    assert (first.signing_key, first.seal_key) == (Keyring(file).signing_key, Keyring(file).seal_key)
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"\xc1")
    with pytest.raises(EnvironmentFault, match="is not a key file"):
        Keyring(file)
    with pytest.raises(CallerError, match="'abc' is not a public key"):
        asyncio.run(Client([], name="ann", is_guest=False, context=None, failover_s=1).seals.trust("house", "abc"))


def test_a_script_seals_and_opens() -> None:
    """As a client does, one call after the other."""
    with local_broker() as url, connect(url, name="house") as house, connect(url, name="ally") as ally:
        house.advertise(Book)
        wanted = ally.subscribe(type="Book")
        ally.seals.trust("house", house.keyring.signing_key)
        house.seals.admit(Book, ally.name, ally.keyring.seal_key)
        house.publish(book(contract="ours"))
        delivery = wanted.next(30)
        assert isinstance(delivery, Delivery)
        assert ally.seals.open(delivery) == {"contract": "ours"}
