"""Keys, events and sandboxes for tests of agvents."""

from __future__ import annotations

import hashlib
from itertools import count
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.execution.signed_programs import Programs
from agvent.agents.execution.trusted_sandbox import TrustedSandbox
from agvent.agents.secrecy.hidden_fields import Hider, HostKeys
from agvent.agents.secrecy.sealed_fields import Sealer
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered
from tests.publishing_house import book

KEYS = HostKeys([X25519PrivateKey.from_private_bytes(b"k" * 32)])
_numbers = count()


def random(size: int) -> bytes:
    """Bytes that are other bytes each time, and the same in every run."""
    return hashlib.shake_256(next(_numbers).to_bytes(8, "big")).digest(size)


HIDER = Hider(KEYS.public, random)
SEALER = Sealer("house", "Book", Ed25519PrivateKey.from_private_bytes(b"s" * 32), random)


def booked(**changes: Any) -> bytes:
    """The bytes of a published book."""
    return encode_event(published(book(**changes), "house", hider=HIDER, sealer=SEALER))


def trusted(*classes: type[Agvent]) -> TrustedSandbox:
    """A sandbox in this process with the programs of these classes."""
    programs = Programs()
    for cls in classes:
        programs.trust(program_of(cls))
    return TrustedSandbox(programs, KEYS)


def faults(answers: list[tuple[Answered, ...]]) -> list[str]:
    """The faults of all answers, in order."""
    return [answer.fault for task in answers for answer in task]
