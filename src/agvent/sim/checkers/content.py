"""An event that a client is given is the one that was published: every value, and its kind."""

from __future__ import annotations

from typing import Any

from agvent.errors import AgventError
from agvent.event import Event
from agvent.sim.ledger import Ledger
from agvent.sim.odd_values import kinds
from agvent.sim.promises import Promises, PublishedId
from agvent.sim.world import World
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Deliver
from agvent.wire.codec import decode_event


def changed(world: World, ledger: Ledger) -> list[str]:
    promises = Promises.of(world.history)
    found: dict[str, None] = {}
    right: set[tuple[PublishedId, bool, bytes]] = set()  # what was looked at before
    for told in world.history.told:
        if not isinstance(told.message, Deliver):
            continue
        for one in deliveries_in(told.message):
            id = PublishedId(one.publisher, one.life, one.sequence)
            made, key = promises.events.get((id, one.fast)), (id, one.fast, one.event)
            if made is None or key in right:
                continue
            right.add(key)
            if (given := _read(one.event)) != _shown(made.event):
                found[f"{told.client} was given {id.publisher}:{id.sequence} as {given}, not {_shown(made.event)}"] = (
                    None
                )
    return [*found]


def _read(content: bytes) -> Any:
    try:
        return _shown(decode_event(content))
    except AgventError as error:
        return str(error)


def _shown(event: Event) -> Any:
    """Everything but the cargo, which says how far an agvent has come."""
    return kinds(event.attributes), event.type, event.ancestors, event.topic, event.channel
