"""AgventType: what events of a type have, as data. An advertisement says that somebody publishes it.

A type's version is the hash of its schema: names and kinds of attributes, behaviours and parameters, and the ancestry.
Descriptions and the program are not part of it, so that a mended text, or mended code, is no new version. Versions live
side by side.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Final

import msgspec

from agvent.errors import EventError
from agvent.event import check_text

SCALAR_KINDS: Final = ("bool", "int", "int32", "float", "str", "bytes", "timestamp")
KINDS: Final = (*SCALAR_KINDS, *(f"list[{kind}]" for kind in SCALAR_KINDS), "object", "any")
"""The kinds a type can give an attribute, a parameter or a result: those of event.py, numbers told apart."""


class Parameter(msgspec.Struct, frozen=True):
    """One parameter of a behaviour."""

    name: str
    kind: str
    description: str = ""


class AdvertisedAttribute(msgspec.Struct, frozen=True):
    """One filterable attribute. `length` is that of a list that always has so many elements, else 0."""

    name: str
    kind: str
    description: str = ""
    length: int = 0
    optional: bool = False


class AdvertisedBehaviour(msgspec.Struct, frozen=True):
    """One filterable behaviour. An opaque one is an attribute that filters compare and nobody reads."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    opaque: bool = False


class AgventType(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A type of events; `ancestors` are its supertypes, nearest first, `program` the hash of its code, if any."""

    name: str
    attributes: tuple[AdvertisedAttribute, ...] = ()
    behaviours: tuple[AdvertisedBehaviour, ...] = ()
    ancestors: tuple[str, ...] = ()
    description: str = ""
    program: str = ""

    def __post_init__(self) -> None:
        for names in ((self.name,), self._members(), *(_names(b.parameters) for b in self.behaviours)):
            _check_names(names, self.name)
        for attribute in self.attributes:
            _check_kind(attribute.kind, f"{self.name}.{attribute.name}")
        for behaviour in self.behaviours:
            for kind in (behaviour.returns, *(parameter.kind for parameter in behaviour.parameters)):
                _check_kind(kind, f"{self.name}.{behaviour.name}()")

    def _members(self) -> tuple[str, ...]:
        return (*_names(self.attributes), *_names(self.behaviours))

    @cached_property
    def schema(self) -> str:
        """The type's version: `v` and 16 hex digits.

        >>> AgventType(name="Book").schema == AgventType(name="Tape", description="Music.").schema
        True
        """
        facts = [
            sorted(_facts(attribute) for attribute in self.attributes),
            sorted([b.name, b.returns, [[p.name, p.kind] for p in b.parameters]] for b in self.behaviours),
            self.ancestors,
        ]
        return "v" + hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:16]


class Advertisement(msgspec.Struct, frozen=True, kw_only=True):
    """A publisher's word that it publishes events of a type. `realm` is a path: whose queries may find it."""

    type: AgventType
    publisher: str
    broker: str
    advertised_at: datetime
    realm: str = ""


@lru_cache(maxsize=1_024)
def unadvertised(name: str | None) -> AgventType:
    """What is known of a type that nobody advertised, and of events without a type: nothing."""
    return AgventType(name=name or "untyped")


def _facts(attribute: AdvertisedAttribute) -> list[str | int]:
    """What the version says of an attribute. Whether it is optional is advice for people: a filter sees null either
    way."""
    length = [attribute.length] if attribute.length else []
    return [attribute.name, attribute.kind, *length]


def _names(
    members: tuple[AdvertisedAttribute, ...] | tuple[AdvertisedBehaviour, ...] | tuple[Parameter, ...],
) -> tuple[str, ...]:
    return tuple(member.name for member in members)


def _check_names(names: tuple[str, ...], type_name: str) -> None:
    for name in names:
        check_text(name)
        if not name or name.startswith("$"):
            raise EventError(
                f"type {type_name!r}: {name!r} cannot be a name", hint="names that begin with $ are reserved"
            )
        if names.count(name) > 1:
            raise EventError(f"type {type_name!r} has two members named {name!r}")


def _check_kind(kind: str, whose: str) -> None:
    if kind not in KINDS:
        raise EventError(f"{whose} has the unknown kind {kind!r}", hint=f"kinds are {', '.join(KINDS)}")
