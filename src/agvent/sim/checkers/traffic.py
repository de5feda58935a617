"""Without a fault, and with the real limits, an event crosses no link twice, and reaches no broker where nobody wants
it but on its way.

A broker is on the way exactly if it passes the copy on, so each broker that gets one is a target or sends one. At a
target some subscription matches; it may be one that the entry does not know, where the home has not answered the
entry's advertisements.
"""

from __future__ import annotations

from collections import Counter

from agvent.sim.ledger import AcceptedEvent, Ledger, matches
from agvent.sim.world import SeenHop, World


def wasted(world: World, ledger: Ledger) -> list[str]:
    if world.history.faults or not world.is_ordinary:
        return []
    # A copy without its event is a link of a chain: those for several homes may follow one another.
    crossings = Counter((hop.event, frozenset((hop.source, hop.target))) for hop in world.hops if hop.bytes)
    found = [
        f"{publisher}:{sequence} crossed {' – '.join(sorted(link))} {times} times"
        for ((publisher, sequence, _), link), times in crossings.items()
        if times > 1
    ]
    senders = {(hop.event, hop.source) for hop in world.hops}
    wanted = {(*_event(accepted), home) for accepted in ledger.events for home in _wanting(accepted, ledger)}
    return found + [
        f"{hop.event.publisher}:{hop.event.sequence} reached {hop.target}, where nobody wants it"
        for hop in world.hops
        if not (_is_wanted(hop, wanted) if hop.target in hop.homes else (hop.event, hop.target) in senders)
    ]


def _event(accepted: AcceptedEvent) -> tuple[str, int]:
    publication = accepted.record.publication
    return publication.publisher, publication.sequence


def _wanting(accepted: AcceptedEvent, ledger: Ledger) -> list[str]:
    """The homes where a subscription matches an event, whomever its publisher wants, or where one may."""
    late = [target.home for target in accepted.record.targets if target.late]
    return late + [
        home
        for home, heads in accepted.homes.items()
        if any(matches(accepted, known) for known in ledger.open_at(home, heads))
    ]


def _is_wanted(hop: SeenHop, wanted: set[tuple[str, int, str]]) -> bool:
    """Is a copy, or an event of a batch, wanted at the home that it reached? A fast one is on no disk."""
    publisher, sequence, fast = hop.event
    events = range(sequence - hop.events + 1, sequence + 1)
    return fast or any((publisher, one, hop.target) in wanted for one in events)
