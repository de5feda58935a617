"""The type of an agvent class, as it is advertised (seed 002, figure 5)."""

from __future__ import annotations

import inspect

from agvent.agents.authoring.agvent import Agvent, Secrecy
from agvent.agents.authoring.flatten import program_of
from agvent.types import AdvertisedAttribute, AgventType


def type_of(cls: type[Agvent]) -> AgventType:
    """Attributes and behaviours with kinds and descriptions, the ancestry and the hash of the program."""
    public = [field for field in cls.__agvent_fields__.values() if field.secrecy is Secrecy.PUBLIC]
    return AgventType(
        name=cls.__name__,
        attributes=tuple(
            AdvertisedAttribute(name, found.kind, found.description, found.length, found.optional)
            for name, found, *_ in public
        ),
        behaviours=cls.__agvent_behaviours__,
        ancestors=tuple(one.__name__ for one in cls.__mro__[1:] if issubclass(one, Agvent) and one is not Agvent),
        description=inspect.cleandoc(cls.__doc__ or ""),
        program=program_of(cls).hash,
    )
