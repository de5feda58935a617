"""What strangers send of agvents: events with cargo, code, sealed bytes; and what must hold of any other bytes."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent.agents.authoring.flatten import program_of
from agvent.agents.execution.sandbox import Task
from agvent.agents.execution.signed_programs import Programs, decode_code, encode_code, sign
from agvent.agents.secrecy.sealed_fields import Sealer, Unsealer, decode_grant, encode_grant
from agvent.errors import AdmissionError, SecretError
from agvent.wire.parts import BehaviourCall
from tests.publishing_house import Book
from tests.sandboxes import booked, random, trusted

HOUSE: Final = Ed25519PrivateKey.from_private_bytes(b"h" * 32)
PUBLIC: Final = HOUSE.public_key().public_bytes_raw()
SANDBOX: Final = trusted(Book)
CALLS: Final = (
    BehaviourCall("references_contain", ("Alonso, E.",)),
    BehaviourCall("holds", ("margin() > 0.2 AND pages > 1",)),
)
GOOD_AGVENTS: Final = tuple(booked(pages=pages) for pages in (1, 320, 2**40))
GOOD_CODE: Final = (encode_code(sign(program_of(Book), "house", HOUSE)),)

_sealer: Final = Sealer("house", "Book", HOUSE, random)
_reader: Final = Unsealer(X25519PrivateKey.from_private_bytes(b"r" * 32))
GOOD_GRANTS: Final = (encode_grant(_sealer.admit("reader", _reader.public)),)
GOOD_SEALED: Final = tuple(_sealer.seal({"contract": text}) for text in ("", "15 %"))
_reader.take(decode_grant(GOOD_GRANTS[0]), PUBLIC)


def check_agvent(content: bytes) -> bool:
    """Every call has an answer; hidden fields that were altered give none. Was it an agvent?"""
    ((cited, held),) = SANDBOX.run([Task("house", content, CALLS)])
    assert [cited.call, held.call] == list(CALLS)
    assert (cited.value is None) == bool(cited.fault)
    return not cited.fault


def check_code(content: bytes) -> bool:
    """Nothing is let in but the program that was signed."""
    programs = Programs({"house": frozenset({PUBLIC})})
    try:
        program = programs.admit(decode_code(content))
    except AdmissionError:
        return False
    assert program == program_of(Book)
    return True


def check_sealed(content: bytes) -> bool:
    """What opens is what was sealed."""
    try:
        fields = _reader.open("house", "Book", content)
    except SecretError:
        return False
    assert content in GOOD_SEALED
    assert fields.keys() == {"contract"}
    return True


def check_grant(content: bytes) -> bool:
    """A grant that is taken says what the publisher signed."""
    try:
        grant = decode_grant(content)
        Unsealer(X25519PrivateKey.from_private_bytes(b"r" * 32)).take(grant, PUBLIC)
    except SecretError:
        return False
    assert grant == decode_grant(GOOD_GRANTS[0])
    return True
