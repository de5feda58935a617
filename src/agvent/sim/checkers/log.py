"""The event log of a run says what happened, and the audit of it comes to the verdict of the other checkers.

The log was written by the code of `agvent log follow` beside the brokers (sim/chronicler.py). Where a broker lost its
disk before it was read, the log may lack what was on it, and speak of events that it does not have.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

from agvent.broker.records import Accepted, Arrived, CaughtUp, Handed, Visited
from agvent.chronicle.carried_state import Versions
from agvent.chronicle.chronicle import MOVE_SHIFT
from agvent.sim.ledger import DueDelivery, Ledger
from agvent.sim.log_audit import AuditDefect, LogAudit
from agvent.sim.log_truth import LogNames, LogTruth
from agvent.sim.memory_log import MemoryLog
from agvent.sim.world import World
from agvent.wire.batches import deliveries_in
from agvent.wire.client_messages import Deliver, Gap
from agvent.wire.names import moves_of, name_of

SHOWN = 3
"""Violations of a kind that are worth reading."""


def untrue(world: World, ledger: Ledger) -> list[str]:
    if world.chronicler is None:
        return []
    log, names = world.chronicler.log, LogNames(world.history, world.chronicler.incarnations)
    has_clocks = any(node.clock_us for node in world.brokers.values())
    audit = LogAudit(log)
    defects = [*_disagreeing(world, ledger, audit, names)]
    return [
        *log.faults[:SHOWN],
        *defects[:SHOWN],
        *LogTruth(world.history, names, has_clocks=has_clocks).differences(log),
        *_misnumbered(log),
        *_handed_again(world, log, names),
        *_early(log),
        *[*_untold(world, ledger, log)][:SHOWN],
    ]


def _disagreeing(world: World, ledger: Ledger, audit: LogAudit, names: LogNames) -> Iterator[str]:
    """What the audit finds, unless clients have seen the same, or what it needs was on a disk that was lost. A client
    that moved drops what comes again from its next home; the homes have both."""
    seen = Counter(ledger.received)
    moved = _moved(world)
    for one in audit.defects():
        client, _, id = one.subscription.partition("/")
        count = seen[DueDelivery(client, id, *one.event)]
        if one.kind == "duplicated" and (count > 1 or client in moved):
            continue
        if not _is_spared(one, audit, names):
            event = f"{one.event.publisher}:{one.event.sequence}"
            yield f"the audit of the log finds {event} {one.kind} for {one.subscription}"


def _is_spared(one: AuditDefect, audit: LogAudit, names: LogNames) -> bool:
    entries = {copy.entry for copy in audit.copies.get(one.event, {})}
    return bool(names.lost) and (not entries or bool({one.home, *entries} & names.lost))


def _misnumbered(log: MemoryLog) -> Iterator[str]:
    """A subscription's positions are each given once."""
    given = Counter((row["subscription"], row["position"]) for row in log.of("deliveries"))
    again = [key for key, times in given.items() if times > 1]
    if again:
        yield f"the log has several deliveries at one position: {again[:SHOWN]}"


def _handed_again(world: World, log: MemoryLog, names: LogNames) -> Iterator[str]:
    """What an old home handed over counts as delivered there, and not at the home that it was handed to as well: unless
    another copy comes when the client is whole there. The publisher may have retried it; the client drops it."""
    handed = _handed(world, names)
    for row in log.of("deliveries") if handed else ():
        stay = (row["home_broker"], row["position"] >> MOVE_SHIFT, row["subscription"])
        if (*stay, row["publisher"], row["sequence"]) in handed:
            yield f"the log has a delivery at a home that it was handed to: {row}"
            return


def _handed(world: World, names: LogNames) -> set[tuple[Any, ...]]:
    """What was handed to a home and did not come there again after the move, by stay, subscription and event."""
    handed: set[tuple[Any, ...]] = set()
    whole: set[tuple[str, str]] = set()
    for one in world.history.on_disk:
        record, home = one.record, names.of(one.broker, one.incarnation)
        if isinstance(record, CaughtUp):
            whole.add((home, record.client))
        elif isinstance(record, Handed) and isinstance(record.passed.delivery, Deliver):
            for single in deliveries_in(record.passed.delivery):
                event = (single.publisher, single.sequence)
                handed |= {(*_stay(home, record.client, id), *event) for id in single.subscriptions}
        elif isinstance(record, (Arrived, Accepted, Visited)) and handed:
            again = record.publication
            handed -= {
                (*_stay(home, client, key.partition("/")[2]), again.publisher, sequence)
                for client, versions in _brought(record)
                if (home, client) in whole
                for key, _ in versions
                for sequence in range(again.first, again.sequence + 1)
            }
    return handed


def _brought(record: Arrived | Accepted | Visited) -> tuple[tuple[str, Versions], ...]:
    """What a record brings to the clients of its broker, by itself or as a stop of a self-routing agvent."""
    if isinstance(record, Arrived):
        return record.deliveries
    return record.outcome.deliveries if record.outcome is not None else ()


def _stay(home: str, client: str, id: str) -> tuple[str, int, str]:
    return home, moves_of(client), f"{name_of(client)}/{id}"


def _early(log: MemoryLog) -> Iterator[str]:
    """Whoever reads the log while it is written sees the cause of everything in it: the answers and the epoch of an
    event, the event of a delivery, the change that an epoch speaks of."""
    events: dict[tuple[Any, ...], int] = {}
    entered: dict[tuple[Any, ...], int] = {}
    for commit, logged in log.events:
        assert logged.event.id is not None
        events.setdefault((*logged.event.id, logged.entry_broker, logged.epoch), commit)
        entered[*logged.event.id, logged.entry_broker] = commit
    for commit, row in log.rows.get("behaviours", ()):
        if row["call"] != "route()" and commit > entered.get(
            (row["publisher"], row["sequence"], row["entry_broker"]), commit
        ):
            yield f"the log has an event before its answers: {row}"
            break
    for commit, row in log.rows.get("deliveries", ()):
        key = (row["publisher"], row["sequence"], row["entry_broker"], row["epoch"])
        if commit < events.get(key, 0):
            yield f"the log has a delivery before its event: {row}"
            break
    yield from _early_epochs(log, events)


def _early_epochs(log: MemoryLog, events: dict[tuple[Any, ...], int]) -> Iterator[str]:
    reached: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for commit, row in log.rows.get("changes", ()):
        reached[row["home_broker"]].append((row["position"], commit))
    epochs: dict[tuple[str, int], int] = {}
    for commit, row in log.rows.get("epochs", ()):
        epochs.setdefault((row["entry_broker"], row["epoch"]), commit)
        later = [at for position, at in reached[row["home_broker"]] if position <= row["position"] and at > commit]
        if later:
            yield f"the log has an epoch before the changes that it speaks of: {row}"
            break
    late = [key for key, commit in events.items() if commit < epochs.get((key[2], key[3]), 0)]
    if late:
        yield f"the log has an event before its epoch: {late[0]}"


def _moved(world: World) -> set[str]:
    return {node.client for node in world.clients.values() if len({*node.homes}) > 1}


def _untold(world: World, ledger: Ledger, log: MemoryLog) -> Iterator[str]:
    """Deliveries and gaps are those that clients were told of. What an old home hands over counts as delivered there,
    and may end as a gap at the next."""
    gaps = _NoticedGaps(log)
    told = {(f"{one.client}/{one.subscription}", one.publisher, one.sequence) for one in ledger.received}
    rows = {(row["subscription"], row["publisher"], row["sequence"]) for row in log.of("deliveries")}
    moved = _moved(world)
    for key, publisher, sequence in sorted(told - rows):
        if not gaps.name(key, publisher, sequence, sequence):
            yield f"{key} was given {publisher}:{sequence}, of which the log has no delivery"
    for key, publisher, sequence in sorted(rows - told):
        if key.partition("/")[0] not in moved:
            yield f"the log has a delivery of {publisher}:{sequence} for {key}, which nobody was given"
    for client, gap in ledger.gaps:
        if client not in moved and gap.publisher and not gaps.tell(client, gap):
            yield f"{client} was told of a gap of {gap.publisher} up to {gap.last}, which the log does not have"


class _NoticedGaps:
    """Rows of the table gaps, by subscription; None stands for every one."""

    def __init__(self, log: MemoryLog) -> None:
        self.rows: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
        for row in log.of("gaps"):
            self.rows[row["subscription"]].append(row)

    def name(self, key: str, publisher: str, first: int, last: int, reason: str = "") -> bool:
        """Is there a gap of a subscription that meets these events, for this reason?"""
        for row in (*self.rows.get(key, ()), *self.rows.get(None, ())):
            if row["publisher"] is None:
                return True
            is_for = row["publisher"] == publisher and reason in ("", row["reason"])
            if is_for and row["first_sequence"] <= last and first <= row["last_sequence"]:
                return True
        return False

    def tell(self, client: str, gap: Gap) -> bool:
        """Does the log have a notice, for one of its subscriptions?"""
        keys = [f"{client}/{id}" for id in gap.subscriptions]
        return any(self.name(key, gap.publisher, gap.first, gap.last, gap.reason) for key in keys)
