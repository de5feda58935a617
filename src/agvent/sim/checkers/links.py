"""Links keep their contract: what sim/watched_link.py saw while the world ran, and what is left at its end."""

from __future__ import annotations

from typing import Final

from agvent.sim.ledger import Ledger
from agvent.sim.watched_link import WatchedEnd
from agvent.sim.world import World

SOON_US: Final = 10_000_000
"""A link that is up has brought a message by then, whatever happened to its frames."""

SHOWN_MAX: Final = 5
"""One mistake in a link is made thousands of times."""


def broken_links(world: World, ledger: Ledger) -> list[str]:
    if world.links is None:
        return []
    found = list(world.links.found)
    for node in [*world.brokers.values(), *world.clients.values()]:
        for end in node.ends.values():
            if node.alive and isinstance(end, WatchedEnd):
                found += _left(world, end)
    return found[:SHOWN_MAX]


def _left(world: World, end: WatchedEnd) -> list[str]:
    """What an end still has that it should have given, or forgotten."""
    found = []
    if end.damaged != end.damaged_frames:
        found.append(f"counted {end.damaged} damaged frames, {end.damaged_frames} were")
    other = world.node(end.peer_name)
    peer = other.ends.get(end.node.name) if other is not None and other.alive else None
    if isinstance(peer, WatchedEnd) and end.up and peer.up and peer.out_key() == end.in_key():
        waiting = world.links.said.get(end.out_key(), ()) if world.links else ()
        late = [type(one.message).__name__ for one in waiting if world.now - one.at > SOON_US]
        if late:
            found.append(f"has not brought {', '.join(late[:3])} for seconds")
        if end.has_all() and peer.has_all() and end.held_bytes:
            found.append(f"counts {end.held_bytes} bytes that nobody waits for")
    return [f"{end.node.name} – {end.peer_name}: {one}" for one in found]
