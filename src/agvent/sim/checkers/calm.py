"""In a calm network every event comes to all who want it, in time, by the shortest way and once. sim/calm.py publishes
them.

The bound on the time is what frames, steps, disks and programs need on the way that the event went, and a little more.
What a broker forgets to do at once it does at its next tick, and that is beyond this bound in most worlds.
"""

from __future__ import annotations

from collections import Counter

from agvent import limits
from agvent.broker.tables.covering import calls_behaviours
from agvent.sim.calm import Calm, CalmEvent, fast_lost
from agvent.sim.ledger import Ledger
from agvent.sim.promises import OwedDelivery, Promises, is_self_routing
from agvent.sim.world import SeenHop, World
from agvent.wire.client_messages import Gap

SPARE_US = 60_000
"""Room for acknowledgements that wait for a frame to travel with, and for frames behind others."""


def restless(world: World, ledger: Ledger) -> list[str]:
    """Where nothing happens, brokers neither say nor write anything."""
    sent, written = world.idle
    return (
        [f"brokers sent {sent} messages and wrote {written} records while nothing happened"] if sent + written else []
    )


def disturbed(world: World, ledger: Ledger) -> list[str]:
    calm = world.calm
    if calm is None or world.link_changes != calm.links:
        return []
    return [*_missing(world, calm), *_wasted(world, calm), *_told(world, calm)]


def _missing(world: World, calm: Calm) -> list[str]:
    """What did not come to somebody who wants it, or late."""
    refused = Promises.of(world.history).refused
    came = {(receipt.owed, receipt.fast): receipt.at for receipt in Promises.of(world.history).receipts}
    found = []
    for one in calm.events:
        for process, subscription in one.wanted:
            node = world.clients[process]
            if (node.client, subscription) in refused or _finds_one_home(one):
                continue
            at = came.get((OwedDelivery(process, subscription, one.id), one.fast))
            name = f"{process} was given {one.id.publisher}:{one.id.sequence} for {subscription}"
            if at is None:
                found.append(f"{name} not at all, though nothing was wrong")
            elif at - one.at > (bound := _bound_us(world, calm, one, node.home)):
                found.append(f"{name} after {(at - one.at) / 1e6:.3f} s, though {bound / 1e6:.3f} s are enough")
    return found


def _finds_one_home(one: CalmEvent) -> bool:
    """An agvent that looks for a single home chooses which."""
    return is_self_routing(one.event) and one.event.type in ("Frugal", None)


def _bound_us(world: World, calm: Calm, one: CalmEvent, home: str) -> int:
    """From its publication to its delivery, on the way that it went."""
    machine, brokers = world.machine, len(world.brokers)
    frame_us = max(path.usual.delay_us + path.usual.jitter_us for path in world.network.paths.values())
    sync_us = 2 * max(max(node.fsync_us, node.usual_sync_us) for node in world.brokers.values()) + 1_000
    program_us = max(machine.run_us) + machine.turn_us
    step_us = frame_us + machine.turn_us
    if is_self_routing(one.event):  # each stop executes it, and has it on disk before it leaves
        return 2 * brokers * (brokers * step_us + program_us + sync_us + machine.turn_us) + SPARE_US
    hops = sum(home in hop.homes and _is_of(hop, one) for hop in world.hops[calm.hops :])
    programs = 4 * program_us if _calls_programs(world) else 0
    bound_us = (hops + 2) * step_us + 2 * (sync_us + machine.turn_us) + programs + SPARE_US
    if _is_anew(world, one.fast, (home,)):
        bound_us += limits.ANSWER_WAIT_US + limits.TICK_US
    if world.is_ordinary:
        return bound_us
    # With small windows each may wait for those before it, and for a client that is not done with them.
    return bound_us * (1 + len(calm.events)) + 2 * len(calm.events) * machine.done_us


def _is_anew(world: World, fast: bool, homes: tuple[str, ...]) -> bool:
    """May it be the first fast event that comes to a home since that crashed? The home does not know whether those
    before it had come, and waits for them as long as they could take; its entry may send it again meanwhile."""
    return fast and any(world.brokers[home].crashes for home in homes)


def _calls_programs(world: World) -> bool:
    """Does some filter ask behaviours? An event waits for their answers, and for those of its publisher's before it."""
    subscribes = [one for client in world.living() for one in client.session.subscriptions.values()]
    return any(calls_behaviours(one.subscription.condition()) for one in subscribes)


def _is_of(hop: SeenHop, one: CalmEvent) -> bool:
    publisher, sequence, fast = hop.event
    is_within = sequence - hop.events < one.id.sequence <= sequence
    return (publisher, fast) == (one.id.publisher, one.fast) and is_within


def _wasted(world: World, calm: Calm) -> list[str]:
    """What crossed a link twice, or came to a broker where nobody wants it and that does not pass it on."""
    said = {(one.id.publisher, one.fast, one.id.sequence) for one in calm.events}
    hops = [hop for hop in world.hops[calm.hops :] if hop.bytes and _name(hop) in said]
    wanted = {
        (one.id.publisher, one.id.sequence, one.fast, world.clients[process].home)
        for one in calm.events
        for process, _ in one.wanted
    }
    refused = {client for client, _ in Promises.of(world.history).refused}  # there an earlier version stands
    unsure = {node.home for node in world.living() if node.client in refused}
    senders = {(hop.event, hop.source) for hop in hops}
    if max(world.machine.run_us) >= limits.ANSWER_WAIT_US and any(is_self_routing(one.event) for one in calm.events):
        return []  # an event behind an agvent waits at its home for longer than its entry waits for the answer
    crossings = Counter((hop.event, frozenset((hop.source, hop.target))) for hop in hops)
    return [
        f"{publisher}:{sequence} crossed {' – '.join(sorted(link))} {times} times in the calm"
        for ((publisher, sequence, fast), link), times in crossings.items()
        if times > 1 and not _is_anew(world, fast, tuple(world.brokers))
    ] + [
        f"{hop.event.publisher}:{hop.event.sequence} reached {hop.target} in the calm, where nobody wants it"
        for hop in hops
        if hop.target not in unsure
        and not (_is_wanted(hop, wanted) if hop.target in hop.homes else (hop.event, hop.target) in senders)
    ]


def _name(hop: SeenHop) -> tuple[str, bool, int]:
    return hop.event.publisher, hop.event.fast, hop.event.sequence


def _is_wanted(hop: SeenHop, wanted: set[tuple[str, int, bool, str]]) -> bool:
    publisher, sequence, fast = hop.event
    return any((publisher, one, fast, hop.target) in wanted for one in range(sequence - hop.events + 1, sequence + 1))


def _told(world: World, calm: Calm) -> list[str]:
    """Gap notices, and fast events that were counted as lost."""
    found = [
        f"{told.process} was told of a gap in the calm: {told.message.publisher}:{told.message.first} "
        f"to {told.message.last}, {told.message.reason}"
        for told in world.history.told[calm.told :]
        if isinstance(told.message, Gap)
    ]
    return found + [
        f"{name} counted fast events as lost in the calm"
        for name, lost in fast_lost(world).items()
        if lost > calm.fast_lost.get(name, 0)
    ]
