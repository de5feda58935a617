"""Code is named by its hash, let in by its signature, and kept once."""

from __future__ import annotations

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent import limits
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.execution.signed_programs import Programs, SignedProgram, decode_code, encode_code, sign
from agvent.errors import AdmissionError
from tests.publishing_house import Book

ADA = Ed25519PrivateKey.from_private_bytes(b"a" * 32)
EVE = Ed25519PrivateKey.from_private_bytes(b"e" * 32)
GRANTS = {"ada": frozenset({ADA.public_key().public_bytes_raw()})}


def odd(kind: str, name: str = "price") -> Program:
    return Program(type="Book", source="", behaviours=(Signature(name, "int", (kind,)),))


def test_bytes_that_are_no_code_are_refused() -> None:
    """Before anything else looks at them."""
    with pytest.raises(AdmissionError, match="not code"):
        decode_code(b"\x00")


def test_signed_code_of_a_granted_principal_is_let_in() -> None:
    """After a trip as bytes it is the same program under the same hash."""
    program = program_of(Book)
    signed = decode_code(encode_code(sign(program, "ada", ADA)))
    programs = Programs(GRANTS)
    assert program.hash not in programs
    assert programs.admit(signed) == program
    assert program.hash in programs
    assert programs.get(program.hash) == program
    assert programs.admit(signed) is programs.get(program.hash)


@pytest.mark.parametrize(
    ("signed", "reason"),
    [
        (sign(program_of(Book), "eve", EVE), "eve is not granted to bring code"),
        (sign(program_of(Book), "ada", EVE), "the signature is not ada's"),
        (SignedProgram(program_of(Book), "ada", b""), "the signature is not ada's"),
        (
            msgspec.structs.replace(sign(program_of(Book), "ada", ADA), program=Program(type="Book", source="x = 1")),
            "the signature is not ada's",
        ),
        (
            sign(Program(type="Book", source="#" * (limits.PROGRAM_BYTES_MAX + 1)), "ada", ADA),
            f"the program has {limits.PROGRAM_BYTES_MAX + 1} bytes",
        ),
        (sign(odd("list["), "ada", ADA), "the program names 'list['"),
        (sign(odd("int", name="a b"), "ada", ADA), "the program names 'a b'"),
        (sign(Program(type="Book()", source=""), "ada", ADA), "the program names 'Book()'"),
    ],
)
def test_other_code_is_refused_with_the_reason(signed: SignedProgram, reason: str) -> None:
    """A principal without a grant, another's signature, none, an altered program, one too large, kinds and names that
    are none."""
    programs = Programs(GRANTS)
    with pytest.raises(AdmissionError) as raised:
        programs.admit(signed)
    assert raised.value.message == reason
    assert signed.program.hash not in programs


def test_code_signed_in_anothers_name_is_refused() -> None:
    """The signature is over the name too: ada's signature does not let eve bring her code."""
    programs = Programs({**GRANTS, "eve": GRANTS["ada"]})
    with pytest.raises(AdmissionError, match="the signature is not eve's"):
        programs.admit(msgspec.structs.replace(sign(program_of(Book), "ada", ADA), principal="eve"))


def test_a_grant_can_be_taken_back() -> None:
    """What is here stays, for events on their way; nothing more is let in."""
    programs = Programs(GRANTS)
    programs.admit(sign(program_of(Book), "ada", ADA))
    programs.revoke("ada")
    with pytest.raises(AdmissionError, match="ada is not granted"):
        programs.admit(sign(program_of(Book), "ada", ADA))
    assert program_of(Book).hash in programs


def test_the_hash_is_of_everything_that_runs() -> None:
    """Type, text and signatures: a change of any is another program."""
    book = program_of(Book)
    others = [
        msgspec.structs.replace(book, type="Tome"),
        msgspec.structs.replace(book, source=book.source + "\n"),
        msgspec.structs.replace(book, behaviours=book.behaviours[1:]),
    ]
    assert len({book.hash, *(other.hash for other in others)}) == 4
