"""Code by its hash: signed by whoever brings it, let in if that principal is granted to, kept once.

The signature is over the hash and the principal's name, so that nobody's code can be brought in another's name.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from agvent import limits
from agvent.agents.authoring.program import Program
from agvent.errors import AdmissionError
from agvent.types import KINDS


class SignedProgram(msgspec.Struct, frozen=True):
    """A program, who brings it, that principal's signature, and the public key to check it with: which proves nothing
    before somebody grants that key to the principal."""

    program: Program
    principal: str
    signature: bytes
    key: bytes = b""


def sign(program: Program, principal: str, key: Ed25519PrivateKey) -> SignedProgram:
    """A program signed by its publisher."""
    signature = key.sign(_statement(program.hash, principal))
    return SignedProgram(program, principal, signature, key.public_key().public_bytes_raw())


def _statement(hash: str, principal: str) -> bytes:
    return msgspec.msgpack.encode(["agvent code", hash, principal])


class Programs:
    """The programs that were let in, by hash. `grants` are the public keys of those who may bring code."""

    def __init__(self, grants: Mapping[str, frozenset[bytes]] | None = None) -> None:
        self.grants = dict(grants or {})
        self._known: dict[str, Program] = {}

    def __contains__(self, hash: str) -> bool:
        return hash in self._known

    def get(self, hash: str) -> Program:
        """The program of this hash; an AdmissionError if it was not let in."""
        if hash not in self._known:
            raise AdmissionError(f"the program {hash[:12]} is not here")
        return self._known[hash]

    def trust(self, program: Program) -> None:
        """Takes a program without a signature: this process's own."""
        self._known[program.hash] = program

    def forget(self, hash: str) -> None:
        """Lets a program go that turned out not to load."""
        self._known.pop(hash, None)

    def admit(self, signed: SignedProgram) -> Program:
        """Takes a program if its signature is of a key granted to its principal; an AdmissionError says why not."""
        program, principal = signed.program, signed.principal
        size = len(program.source.encode("utf-8", "surrogatepass"))
        if size > limits.PROGRAM_BYTES_MAX:
            raise AdmissionError(f"the program has {size} bytes", hint=f"at most {limits.PROGRAM_BYTES_MAX}")
        _check_names(program)
        keys = self.grants.get(principal)
        if not keys:
            raise AdmissionError(f"{principal} is not granted to bring code"[:200])
        statement = _statement(program.hash, principal)
        if not any(_is_signed(key, signed.signature, statement) for key in keys):
            raise AdmissionError(f"the signature is not {principal}'s"[:200])
        if program.hash not in self._known and len(self._known) >= limits.PROGRAMS_MAX:
            raise AdmissionError(f"{limits.PROGRAMS_MAX} programs are here already")
        return self._known.setdefault(program.hash, program)

    def grant(self, principal: str, key: bytes) -> None:
        """Lets a principal bring code that is signed with this key, beside those it was granted before."""
        self.grants[principal] = self.grants.get(principal, frozenset()) | {key}

    def revoke(self, principal: str) -> None:
        """Takes the grant back. Programs that are here stay: events on their way may need them."""
        self.grants.pop(principal, None)


def _check_names(program: Program) -> None:
    """A program comes from strangers: what a host goes by must be names and kinds that there are."""
    names = (program.type, *program.reads, *(one.name for one in program.behaviours))
    kinds = [kind for one in program.behaviours for kind in (one.returns, *one.parameters)]
    odd = [name for name in names if not name.isidentifier()] + [kind for kind in kinds if kind not in KINDS]
    if odd:
        raise AdmissionError(f"the program names {odd[0]!r}"[:200], hint=f"kinds are {', '.join(KINDS)}")


def encode_code(signed: SignedProgram) -> bytes:
    """The bytes of a signed program."""
    return msgspec.msgpack.encode(signed)


def decode_code(content: bytes) -> SignedProgram:
    """The signed program of these bytes, which nobody has looked at yet: `Programs.admit` does."""
    try:
        return msgspec.msgpack.decode(content, type=SignedProgram)
    except (ValueError, RecursionError) as error:
        raise AdmissionError(f"not code: {error}"[:200]) from None


def _is_signed(key: bytes, signature: bytes, statement: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, statement)
    except (InvalidSignature, ValueError):
        return False
    return True
