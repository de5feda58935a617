"""The life cycle of an agvent that finds its own way (seed 002, figure 4), read off the records of its stops."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent.broker.records import Accepted, Outcome, Record, Visited


class Stage(msgspec.Struct, frozen=True):
    """One stage of an instance: created, admitted, executed, delivered, cloned, migrated or disposed.

    `path` is the instance's, `to` where it or its clone goes, `homes` those it goes for or has declined, `clients` who
    gets it, `reason` what went wrong."""

    what: str
    path: str
    to: str = ""
    homes: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    reason: str = ""


def stages_of(record: Record) -> Iterator[Stage]:
    """The stages that a record is about; none if it is about something else."""
    if isinstance(record, Accepted) and record.outcome is not None:
        yield Stage(what="created", path="")
        yield from _stages((), record.outcome)
    elif isinstance(record, Visited):
        yield from _stages(record.journey.path, record.outcome)


def _stages(path: tuple[int, ...], outcome: Outcome) -> Iterator[Stage]:
    name = shown(path)
    yield Stage(what="admitted", path=name)
    yield Stage(what="executed", path=name, reason="; ".join(outcome.reasons))
    if outcome.deliveries:
        yield Stage(what="delivered", path=name, clients=tuple(client for client, _ in outcome.deliveries))
    moved = [leg for leg in outcome.legs if leg.snapshot]
    for leg in outcome.legs:
        homes = tuple(target.home for target in leg.targets)
        yield Stage(what="migrated" if leg.snapshot else "cloned", path=shown(leg.path), to=leg.to, homes=homes)
    if not moved:
        yield Stage(what="disposed", path=name, homes=outcome.declined)


def shown(path: tuple[int, ...]) -> str:
    """
    >>> shown((0, 2, 0))
    '0.2.0'
    """
    return ".".join(map(str, path))
