"""The key file of a network's sandbox hosts: private X25519 keys, 32 bytes each, the newest last.

Every host of a network has the same file. Publishers hide fields for the newest key; older ones open what was hidden
before.
"""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from agvent.agents.secrecy.hidden_fields import HostKeys
from agvent.agents.secrecy.key_agreement import KEY_BYTES
from agvent.errors import SandboxFault


def make_host_key(file: Path) -> int:
    """Adds a new key to a file, which is made if it is not there; how many it has now. Any 32 bytes are a key."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as keys:
        if (size := os.fstat(descriptor).st_size) % KEY_BYTES:
            raise _damaged(file, size)
        keys.write(os.urandom(KEY_BYTES))
    return size // KEY_BYTES + 1


def host_keys(file: Path) -> HostKeys:
    """The keys in a file."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise SandboxFault(f"the hosts' key file cannot be read: {error}"[:300]) from None
    if not content or len(content) % KEY_BYTES:
        raise _damaged(file, len(content))
    parts = [content[first : first + KEY_BYTES] for first in range(0, len(content), KEY_BYTES)]
    return HostKeys([X25519PrivateKey.from_private_bytes(part) for part in parts])


def _damaged(file: Path, size: int) -> SandboxFault:
    return SandboxFault(
        f"{file} has {size} bytes, which is not a whole number of keys",
        hint=f"a key has {KEY_BYTES}; put back the file that the other hosts have",
    )
