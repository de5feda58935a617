"""Every gap notice speaks of something: of subscriptions that the client asked for, of events that were published, and
for a reason that this world had.

That no gap is missing, promised.py sees: an event that was owed and not received must be in one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from agvent import limits
from agvent.sim.bounds import LOSSY
from agvent.sim.ledger import Ledger
from agvent.sim.promises import MadeEvent, Promises
from agvent.sim.world import ClientTold, World
from agvent.wire.client_messages import Gap

OF_EVERYTHING: Final = {"moved", "lost_disk", "forgotten"}
"""Reasons of notices that name no publisher: everything may be missing."""

MANY: Final = 1_000
MANY_BYTES: Final = 1 << 20
"""A limit above this is not met in a run."""


def misnoticed(world: World, ledger: Ledger) -> list[str]:
    promises = Promises.of(world.history)
    published: dict[tuple[str, bool], dict[int, list[MadeEvent]]] = {}
    for (id, fast), made in promises.events.items():
        published.setdefault((id.publisher, fast), {}).setdefault(id.sequence, []).append(made)
    asked = {(one.client, one.args[0].id) for one in world.history.asked if one.method == "subscribe"}
    reasons = _reasons(world)
    found = []
    for told in promises.gaps:
        gap = told.message
        assert isinstance(gap, Gap)
        unknown = [id for id in gap.subscriptions if (told.client, id) not in asked]
        if unknown or not gap.subscriptions:
            found.append(f"{_shown(told, gap)}, and never asked for {unknown}")
        if gap.reason not in reasons:
            found.append(f"{_shown(told, gap)}, which cannot have been so")
        elif gap.publisher:
            found += _untrue(world, promises, told, gap, published.get((gap.publisher, gap.fast), {}))
        elif gap.reason not in OF_EVERYTHING and reasons.isdisjoint(OF_EVERYTHING):  # a notice may be let go, too
            found.append(f"{_shown(told, gap)}, and not whose events")
    return found


def _untrue(
    world: World, promises: Promises, told: ClientTold, gap: Gap, events: dict[int, list[MadeEvent]]
) -> Iterator[str]:
    if not 0 < gap.first <= gap.last <= max(events, default=0):
        yield f"{_shown(told, gap)}, of which there are {max(events, default=0)}"
        return
    named = [made for sequence in range(gap.first, gap.last + 1) for made in events.get(sequence, [])]
    if all(made.published > told.at for made in named):
        yield f"{_shown(told, gap)}, and these were published later"
    if gap.reason == "expired" and not any(_may_have_expired(world, promises, told, gap, made) for made in named):
        yield f"{_shown(told, gap)}, and none of these had expired and was for it"


def _may_have_expired(world: World, promises: Promises, told: ClientTold, gap: Gap, made: MadeEvent) -> bool:
    has_clocks = any(node.clock_us for node in world.brokers.values())
    if not made.expires or (made.expires > told.at and not has_clocks):
        return False
    wishes = (
        wish
        for (_, id), versions in promises.wishes.items()
        if id in gap.subscriptions
        for wish in versions
        if wish.client == told.client
    )
    return any(promises.matching(made, wish) for wish in wishes)


def _reasons(world: World) -> set[str]:
    """The reasons that there may be."""
    found = {"expired"}
    if limits.CLIENT_DELIVERIES_MAX < MANY or limits.CLIENT_QUEUE_BYTES_MAX < MANY_BYTES:
        found.add("quota")
    if any(getattr(limits, name) < MANY for name in LOSSY):
        found.add("retention")
    if any(len(node.homes) > 1 or node.session.life for node in world.clients.values()):
        found.add("moved")
    if world.history.lost_disks:
        found |= {"lost_disk", "moved"}
    if any(node.left for node in world.brokers.values()):
        found |= {"forgotten", "lost_disk"}
    if any(node.crashes for node in world.brokers.values()):
        found.add("crash")
    return found


def _shown(told: ClientTold, gap: Gap) -> str:
    events = f"{gap.publisher}:{gap.first}-{gap.last}" if gap.publisher else "everything"
    return f"{told.process} was told of a gap ({gap.reason}) in {events} for {', '.join(gap.subscriptions)}"
