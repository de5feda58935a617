"""Code at the door: whose it is, who signed it, and which type it is for."""

from __future__ import annotations

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent import limits
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.execution.signed_programs import SignedProgram, encode_code, sign
from agvent.net.server.access import AccessControl, Principal
from agvent.net.server.grants import ALL, Grants
from agvent.wire.client_messages import Advertise
from tests.publishing_house import Book, Publication

HOUSE = Ed25519PrivateKey.from_private_bytes(b"h" * 32)
SIGNED = sign(program_of(Book), "house", HOUSE)


def denial(signed: SignedProgram | bytes, *, grants: Grants = ALL, type: object = Book) -> str:
    """Why the broker does not take the code; empty if it does."""
    code = signed if isinstance(signed, bytes) else encode_code(signed)
    message = Advertise(1, type_of(type), code)  # type: ignore[arg-type]
    refused = AccessControl(is_locked=False, keys=[]).denial(Principal("house", grants), "house", message, 0)
    return refused.reason if refused is not None else ""


def test_signed_code_of_the_type_is_taken() -> None:
    """Without keys from everybody, with keys from whom it is granted."""
    assert denial(SIGNED) == ""
    assert denial(SIGNED, grants=Grants(["advertise *", "code type:Book"], "house")) == ""


@pytest.mark.parametrize(
    ("signed", "reason"),
    [
        (b"\xc1", "not code: "),
        (sign(program_of(Book), "eve", HOUSE), "denied: the code is of 'eve', not of 'house'"),
        (msgspec.structs.replace(SIGNED, signature=b"s" * 64), "the signature is not house's"),
        (msgspec.structs.replace(SIGNED, key=b"k" * 32), "the signature is not house's"),
        (sign(program_of(Publication), "house", HOUSE), "the program is not the one that the type names"),
    ],
    ids=["no code", "another's", "altered", "another key", "another program"],
)
def test_other_code_is_refused_with_the_reason(signed: SignedProgram | bytes, reason: str) -> None:
    """Bytes that are no code, another's name, a wrong signature or key, another type's program."""
    assert denial(signed).startswith(reason)


def test_who_may_advertise_may_not_bring_code() -> None:
    """It takes a grant of its own, for that very type."""
    for grant in ("advertise *", "code type:Publication"):
        assert (
            denial(SIGNED, grants=Grants(["advertise *", grant], "house"))
            == "denied: 'house' has no grant `code type:Book`"
        )


def test_a_principal_has_so_many_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each could have a queue at a home. One that has its place keeps it, and others' names do not count."""
    monkeypatch.setattr(limits, "PRINCIPAL_CLIENTS_MAX", 2)
    mallory = Principal("mallory", ALL)
    assert not mallory.has_enough_clients({"mallory", "ada"}, "mallory.1")
    both = {"mallory", "mallory.1"}
    assert [mallory.has_enough_clients(both, name) for name in ("mallory.1", "mallory.2")] == [False, True]
