"""What a broker remembers of the events that passed it lately, for `agvent trace`, and what it has counted.

Cost: one tuple in a ring for each hop; looking for an event walks the ring.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import compress
from typing import Final, NamedTuple

import msgspec

from agvent import limits
from agvent.agents.execution.sandbox import ArrivalReply
from agvent.broker.interface import Append, Effect, Input, MessageCame, Send
from agvent.broker.records import Accepted, Acknowledged, Arrived, Curtailed, Noticed, Visited
from agvent.chronicle.lifecycle import stages_of
from agvent.event import EventId
from agvent.wire.broker_messages import Copies
from agvent.wire.client_messages import Deliver
from agvent.wire.codec import has_cargo
from agvent.wire.lines import places_in
from agvent.wire.parts import Publication

OVER: Final = "its time is over"


class TracedHop(msgspec.Struct, frozen=True):
    """Something that happened to an event at this broker: `entered`, `sent`, `came` or `arrived`; to an agvent also
    `admitted` by a subscriber, or `rejected`, and the stages of its life cycle (seed 002, figure 4). `reason`: why it
    was rejected, or why a behaviour gave no answer."""

    at: int
    what: str
    broker: str
    peer: str = ""  # the neighbour it came from or went to
    homes: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    reason: str = ""
    path: str = ""  # which instance of an agvent


class NotedHop(NamedTuple):
    """A hop, and the events it is of: a publisher's from one sequence to another. Of an arrival, for each client the
    places of a batch's events that went to it. Of an agvent that takes the default route, `life` are the stages of its
    life that the hop is; of one that a subscriber let in, `until` is when its time there is over."""

    publisher: str
    first: int
    last: int
    fast: bool
    hop: TracedHop
    places: tuple[tuple[bytes, ...], ...] = ()
    life: tuple[str, ...] = ()
    until: int = 0

    def of(self, sequence: int) -> TracedHop:
        """The hop of one of them."""
        if not self.places:
            return self.hop
        count, place = self.last - self.first + 1, sequence - self.first
        went = [any(place in places_in(pick, count) for pick in picks) for picks in self.places]
        return msgspec.structs.replace(self.hop, clients=tuple(compress(self.hop.clients, went)))

    def with_stages(self, sequence: int) -> list[TracedHop]:
        """The hop of one of them, and the stages beside it: an agvent is created before it enters."""
        hop = self.of(sequence)
        stages = [msgspec.structs.replace(hop, what=stage) for stage in self.life]
        return [*stages[:1], hop, *stages[1:]] if hop.what == "entered" else [hop, *stages]


class RecentHops:
    """The last hops, oldest first, and counts since the start."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.counts: Counter[str] = Counter()
        self._ring: deque[NotedHop] = deque(maxlen=limits.HOPS_KEPT_MAX)

    def find(self, publisher: str, sequence: int, now: int, *, fast: bool = False) -> list[TracedHop]:
        noted = [
            one
            for one in self._ring
            if one.first <= sequence <= one.last and (one.publisher, one.fast) == (publisher, fast)
        ]
        hops = [hop for one in noted for hop in one.with_stages(sequence)]
        disposed = {hop.clients for hop in hops if hop.what == "disposed"}
        over = [one for one in noted if 0 < one.until <= now and one.hop.clients not in disposed]
        hops += [TracedHop(one.until, "disposed", self.broker, clients=one.hop.clients, reason=OVER) for one in over]
        return hops

    def note(self, inputs: Iterable[Input], effects: Iterable[Effect], names: dict[str, str], now: int) -> None:
        """Notes a step; `names` has the neighbour of each link."""
        for given in inputs:
            if isinstance(given, MessageCame) and isinstance(given.message, Copies) and given.link in names:
                self._copies(given.message, "came", names[given.link], now)
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Copies):
                self._copies(effect.message, "sent", names.get(effect.link, ""), now)
            elif isinstance(effect, Append):
                self._records(effect, now)

    def visited(self, delivery: Deliver, client: str, arrived: ArrivalReply, now: int, *, expires: int = 0) -> None:
        """Notes that a subscriber let an agvent in, and what came of that, or why not."""
        what = "rejected" if arrived.fault else "admitted"
        hop = TracedHop(now, what, self.broker, clients=(client,), reason=arrived.fault)
        life = ("executed",) if arrived.told or arrived.answered else ()
        stays = min(now + limits.RESIDENCE_US, expires or limits.INT_MAX)
        self._ring.append(_noted(delivery, hop, life=life, until=0 if arrived.fault else stays))
        self.counts[f"agvents_{what}"] += 1

    def disposed(self, id: EventId, client: str, now: int, *, fast: bool) -> None:
        """Notes that a subscriber disposed of an agvent."""
        hop = TracedHop(now, "disposed", self.broker, clients=(client,))
        self._ring.append(NotedHop(id.publisher, id.sequence, id.sequence, fast, hop))

    def _copies(self, copies: Copies, what: str, peer: str, now: int) -> None:
        """Late copies are left out: a home that has not answered an advertisement gets one whether it wants it or not.
        Where one is delivered, its arrival is noted."""
        publication = copies.publication
        homes = tuple(target.home for target in copies.targets if not target.late)
        life = ("migrated",) if what == "sent" and has_cargo(publication.event) else ()
        if homes:
            self._ring.append(_noted(publication, TracedHop(now, what, self.broker, peer, homes), life=life))
        self.counts["copies_sent" if what == "sent" else "copies_received"] += publication.count

    def _records(self, effect: Append, now: int) -> None:
        for record in effect.records:
            if isinstance(record, (Accepted, Arrived)):
                self._event(record, now)
            if isinstance(record, (Accepted, Visited)):
                self._stages(record, now)
            if isinstance(record, Acknowledged):
                self.counts["acknowledgements"] += 1
            elif isinstance(record, (Noticed, Curtailed)):
                self.counts["gap_notices"] += 1

    def _stages(self, record: Accepted | Visited, now: int) -> None:
        for stage in stages_of(record):
            hop = TracedHop(
                now, stage.what, self.broker, stage.to, stage.homes, stage.clients, stage.reason, stage.path
            )
            self._ring.append(_noted(record.publication, hop))
            self.counts[f"journeys_{stage.what}"] += 1

    def _event(self, record: Accepted | Arrived, now: int) -> None:
        publication = record.publication
        if isinstance(record, Accepted):
            fault = next((answered.fault for answered in record.entered.answers if answered.fault), "")
            homes = tuple(target.home for target in record.targets if not target.late)
            life: tuple[str, ...] = ()
            if record.outcome is None and has_cargo(publication.event):
                life = ("created", "admitted", "executed") if record.entered.answers else ("created", "admitted")
            self._ring.append(
                _noted(publication, TracedHop(now, "entered", self.broker, homes=homes, reason=fault), life=life)
            )
            self.counts["events_entered"] += publication.count
        else:
            hop = TracedHop(now, "arrived", self.broker, "", (), tuple(client for client, _ in record.deliveries))
            life = ("delivered",) if hop.clients and has_cargo(publication.event) else ()
            if hop.clients or not record.late:
                self._ring.append(_noted(publication, hop, record.places, life=life))
            self.counts["events_arrived"] += publication.count
            self.counts["deliveries_queued"] += _deliveries(record)


def _deliveries(record: Arrived) -> int:
    """The events that were queued for clients, each once for each client."""
    count = record.publication.count
    if not record.places:
        return len(record.deliveries)
    return sum(len({place for pick in picks for place in places_in(pick, count)}) for picks in record.places)


def _noted(
    what: Publication | Deliver,
    hop: TracedHop,
    places: tuple[tuple[bytes, ...], ...] = (),
    *,
    life: tuple[str, ...] = (),
    until: int = 0,
) -> NotedHop:
    return NotedHop(what.publisher, what.first, what.sequence, what.fast, hop, places, life, until)
