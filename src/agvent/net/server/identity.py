"""Which broker a disk belongs to, and which incarnation of it.

`identity.json` stands beside the journal. A broker that begins with an empty journal is a new incarnation of its name:
its neighbours then know that it has forgotten everything, and drop what they knew of the one before.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import CallerError, EnvironmentFault
from agvent.store.sync_folder import sync_folder

IDENTITY: Final = "identity.json"


class Identity(msgspec.Struct, frozen=True):
    """Who the disk belongs to. An incarnation is the second in which it began, so that a later one is greater."""

    broker: str
    incarnation: int


def identity(data: Path, name: str, *, is_new: bool) -> Identity:
    """The identity that the disk has; a new one if its journal is new, whatever stood there before."""
    path = data / IDENTITY
    known = known_identity(data)
    if known is not None and known.broker != name:
        raise CallerError(
            f"{data} is the disk of broker {known.broker!r}, not of {name!r}", hint="give each broker its own `data`"
        )
    if not is_new:
        return identity_of(data)
    made = Identity(name, max(int(time.time()), known.incarnation + 1 if known else 0))
    partial = path.with_suffix(".partial")
    with partial.open("wb") as out:
        out.write(msgspec.json.encode(made))
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)
    sync_folder(data)
    return made


def identity_of(data: Path) -> Identity:
    """The identity that the disk has."""
    known = known_identity(data)
    if known is None:
        raise EnvironmentFault(f"{data / IDENTITY} is missing: the journal's broker is unknown")
    return known


def known_identity(data: Path) -> Identity | None:
    """The identity that the disk has; None if no broker was started with it."""
    path = data / IDENTITY
    try:
        return msgspec.json.decode(path.read_bytes(), type=Identity)
    except FileNotFoundError:
        return None
    except (ValueError, OSError) as error:
        raise EnvironmentFault(f"{path}: {error}") from None
