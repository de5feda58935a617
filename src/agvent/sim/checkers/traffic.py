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
    # A copy without its event is a link of a chain: those for several homes may follow one another.
    crossings = Counter((hop.event, frozenset((hop.source, hop.target))) for hop in world.hops if hop.bytes)
    found = [
        f"{publisher}:{sequence} crossed {' – '.join(sorted(link))} {times} times"
        for ((publisher, sequence, _), link), times in crossings.items()
        if times > 1
    ]
    senders = {(hop.event, hop.source) for hop in world.hops}
    return found + [
        f"{hop.event[0]}:{hop.event[1]} reached {hop.target}, where nobody wants it"
        for hop in world.hops
        if hop.target not in hop.homes and (hop.event, hop.target) not in senders
    ]
