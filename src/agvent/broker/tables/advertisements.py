"""The advertisement table: what each owner broker's publishers will publish, the same at every broker.

An owner's changes have versions 1, 2, 3, …, and a broker has a prefix of them. A tombstone keeps the version of what
was taken back, so that repair never brings a type back. An owner that is known at all has the standing advertisement:
events without a type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from agvent import limits
from agvent.broker.records import Owned
from agvent.types import AgventType
from agvent.wire.broker_messages import Adverts, Entry
from agvent.wire.sizes import portions

UNTYPED: Final = AgventType(name="untyped")
"""What an owner advertises, for nobody's name, when the first event without a type enters there: until a broker has
answered it, that broker may have subscriptions that are not known at the entry."""


def tombstone(version: int, publisher: str, type: str) -> Entry:
    """What stays of an advertisement that was taken back: of its type, the name."""
    return Entry(version=version, publisher=publisher, type=AgventType(name=type), live=False)


class EntryKey(msgspec.Struct, frozen=True, order=True, gc=False):
    """Whose advertisement it is, of which type."""

    publisher: str
    type: str


class Owner(msgspec.Struct):
    """One broker's advertisements. `incarnation` and, within one, `version` only grow."""

    incarnation: int
    version: int
    gone: bool = False
    entries: dict[EntryKey, Entry] = {}
    types: dict[str, int] = {}  # publisher -> how many of `entries` are its
    reach: frozenset[str] = frozenset()  # live types and their ancestors: what a subscription may name


class Advertisements:
    """All owners, this broker's own included."""

    def __init__(self) -> None:
        self._owners: dict[str, Owner] = {}
        self._of_type: dict[str, dict[str, None]] = {}  # type -> exactly the owners with it in `reach`

    def __contains__(self, owner: str) -> bool:
        return owner in self._owners and not self._owners[owner].gone

    def owners(self) -> list[str]:
        """Every broker there is, in the order they became known."""
        return [name for name, owner in self._owners.items() if not owner.gone]

    def incarnation(self, owner: str) -> int:
        return self._owners[owner].incarnation if owner in self._owners else 0

    def version(self, owner: str) -> int:
        return self._owners[owner].version if owner in self._owners else 0

    def reach(self, owner: str) -> frozenset[str]:
        """The types that its publishers advertise, and their ancestors."""
        return self._owners[owner].reach if owner in self._owners else frozenset()

    def is_silent(self, owner: str) -> bool:
        """Has it never advertised a type?"""
        return owner not in self._owners or not self._owners[owner].entries

    def known(self) -> dict[str, tuple[int, int]]:
        return {name: (owner.incarnation, owner.version) for name, owner in self._owners.items()}

    def is_news(self, adverts: Adverts) -> bool:
        """Does it continue what is known, or begin a newer incarnation?"""
        incarnation, version = self.known_of(adverts.owner)
        if adverts.incarnation != incarnation:
            return adverts.incarnation > incarnation and adverts.since == 0
        return adverts.since <= version < adverts.version

    def is_early(self, adverts: Adverts) -> bool:
        """Does something between it and what is known have yet to come?"""
        incarnation, version = self.known_of(adverts.owner)
        if adverts.incarnation != incarnation:
            return adverts.incarnation > incarnation and adverts.since > 0
        return adverts.since > version

    def known_of(self, owner: str) -> tuple[int, int]:
        known = self._owners.get(owner)
        return (known.incarnation, known.version) if known is not None else (0, 0)

    def apply(self, record: Owned) -> None:
        owner = self._owners.get(record.owner)
        if owner is None or owner.incarnation < record.incarnation:
            if owner is not None:
                self._set_reach(record.owner, frozenset())
            owner = self._owners[record.owner] = Owner(incarnation=record.incarnation, version=0, entries={}, types={})
        assert owner.incarnation == record.incarnation
        assert owner.version < record.version
        owner.version, owner.gone = record.version, record.gone
        for entry in record.entries:
            key = EntryKey(entry.publisher, entry.type.name)
            if key not in owner.entries:
                owner.types[entry.publisher] = owner.types.get(entry.publisher, 0) + 1
            if key not in owner.entries or owner.entries[key].version < entry.version:
                owner.entries[key] = entry if entry.live else tombstone(entry.version, key.publisher, key.type)
        if owner.entries:
            live = [entry.type for entry in owner.entries.values() if entry.live and not record.gone]
            self._set_reach(record.owner, frozenset(name for type in live for name in (type.name, *type.ancestors)))

    def _set_reach(self, name: str, reach: frozenset[str]) -> None:
        owner = self._owners[name]
        for type in sorted(owner.reach - reach):
            del self._of_type[type][name]
        for type in sorted(reach - owner.reach):
            self._of_type.setdefault(type, {})[name] = None
        owner.reach = reach

    def snapshot(self) -> Iterator[Owned]:
        """One record for each owner, tombstones included."""
        for name, owner in self._owners.items():
            yield Owned(
                owner=name,
                incarnation=owner.incarnation,
                version=owner.version,
                entries=tuple(owner.entries.values()),
                gone=owner.gone,
            )

    def missing(self, known: Mapping[str, tuple[int, int]]) -> Iterator[Adverts]:
        """What a neighbour that knows this much lacks, without a trace: of each owner in the order of its versions, in
        parts that fit a message."""
        for name, owner in self._owners.items():
            incarnation, version = known.get(name, (0, 0))
            if (owner.incarnation, owner.version) <= (incarnation, version):
                continue
            since = version if incarnation == owner.incarnation else 0
            changed = sorted((e for e in owner.entries.values() if e.version > since), key=lambda e: e.version)
            for part in portions(changed):
                version = owner.version if part[-1:] == tuple(changed[-1:]) else part[-1].version
                yield Adverts(
                    owner=name,
                    incarnation=owner.incarnation,
                    since=since,
                    version=version,
                    entries=part,
                    trace=(),
                    gone=owner.gone,
                )
                since = version

    def overlaps(self, owner: str, type: str | None) -> bool:
        """Could an event that enters there have this type? The standing advertisement and every typed one overlap with
        a subscription that names no type (the seed's rule is covering, which would lose partial matches)."""
        return owner in self and (type is None or type in self._owners[owner].reach)

    def entry(self, owner: str, publisher: str, type: str) -> Entry | None:
        """What this publisher advertises there, if it does."""
        entry = self._owners[owner].entries.get(EntryKey(publisher, type)) if owner in self else None
        return entry if entry is not None and entry.live else None

    def has_room(self, owner: str, publisher: str, type: str) -> bool:
        """May a publisher advertise a type there, beside those it has and had?"""
        known = self._owners[owner]
        return EntryKey(publisher, type) in known.entries or known.types.get(publisher, 0) < limits.PUBLISHER_TYPES_MAX

    def publishes(self, owner: str, publisher: str, type: str) -> AgventType | None:
        """The type as this publisher advertised it there."""
        entry = self.entry(owner, publisher, type)
        return entry.type if entry is not None else None

    def code(self) -> dict[tuple[str, str], Entry]:
        """What brings each program of a publisher: of several entries, the one that a snapshot has last."""
        entries = (entry for owner in self._owners.values() for entry in owner.entries.values())
        return {(entry.publisher, entry.type.program): entry for entry in entries if entry.code}

    def types_of(self, owner: str, publisher: str) -> list[AgventType]:
        """What a publisher advertises there."""
        entries = self._owners[owner].entries if owner in self else {}
        return [entry.type for entry in entries.values() if entry.publisher == publisher and entry.live]

    def overlapping(self, type: str | None) -> list[str]:
        """The owners whose advertisements a subscription of this type overlaps."""
        return self.owners() if type is None else list(self._of_type.get(type, ()))

    def since(self, owner: str, type: str, ancestors: tuple[str, ...]) -> int:
        """The version since which the owner advertises all that an event of this type may be asked for as."""
        asked, known = {type, *ancestors}, self._owners[owner]
        live = (entry for entry in known.entries.values() if entry.live)
        return min((e.version for e in live if asked <= {e.type.name, *e.type.ancestors}), default=known.version + 1)

    def is_published(self, type: str) -> bool:
        """Does anybody publish the type or a subtype?"""
        return bool(self._of_type.get(type))

    def found(self, type: str) -> tuple[tuple[str, str, AgventType], ...]:
        """The live advertisements, all or those of a type and its subtypes: owner, publisher, type."""
        return tuple(
            (name, entry.publisher, entry.type)
            for name, owner in sorted(self._owners.items())
            for _, entry in sorted(owner.entries.items())
            if entry.live
            and entry.publisher
            and not owner.gone
            and (not type or type in (entry.type.name, *entry.type.ancestors))
        )

    def check(self) -> None:
        for owner in self._owners.values():
            assert all(entry.version <= owner.version for entry in owner.entries.values())
            assert owner.types == Counter(key.publisher for key in owner.entries)
