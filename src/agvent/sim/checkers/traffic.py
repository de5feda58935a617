"""Without a fault an event crosses no link twice, and reaches no broker that is neither a target nor on the way.

A broker is on the way exactly if it passes the copy on, so each broker that gets one is a target or sends one.
"""

from __future__ import annotations

from collections import Counter

from agvent.sim.ledger import Ledger
from agvent.sim.world import World


def wasted(world: World, ledger: Ledger) -> list[str]:
    if world.history.faults:
        return []
    crossings = Counter((event, frozenset((source, target))) for event, source, target, _ in world.crossings)
    found = [
        f"{publisher}:{sequence} crossed {' – '.join(sorted(link))} {times} times"
        for ((publisher, sequence, _), link), times in crossings.items()
        if times > 1
    ]
    senders = {(event, source) for event, source, _, _ in world.crossings}
    for event, _, target, homes in world.crossings:
        if target not in homes and (event, target) not in senders:
            found.append(f"{event[0]}:{event[1]} reached {target}, where nobody wants it")
    return found
