"""What a broker remembers of the events that passed it lately, for `agvent trace`, and what it has counted.

Cost: one tuple in a ring for each hop; looking for an event walks the ring.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import compress
from typing import NamedTuple

import msgspec

from agvent import limits
from agvent.broker.interface import Append, Came, Effect, Input, Send
from agvent.broker.lifecycle import stages_of
from agvent.broker.records import Accepted, Acknowledged, Arrived, Curtailed, Noticed, Visited
from agvent.wire.broker_messages import Copies
from agvent.wire.client_messages import Deliver
from agvent.wire.lines import places_in
from agvent.wire.parts import Publication


class Hop(msgspec.Struct, frozen=True):
    """Something that happened to an event at this broker: `entered`, `sent`, `came` or `arrived`; to an agvent also
    `admitted` by a subscriber, or `refused`; to one that finds its own way the stages of its life cycle. `reason`: why
    that, or why a behaviour gave no answer."""

    at: int
    what: str
    broker: str
    peer: str = ""  # the neighbour it came from or went to
    homes: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    reason: str = ""
    path: str = ""  # which instance of an agvent


class Noted(NamedTuple):
    """A hop, and the events it is of: a publisher's from one sequence to another. Of an arrival, for each client the
    places of a batch's events that went to it."""

    publisher: str
    first: int
    last: int
    fast: bool
    hop: Hop
    places: tuple[tuple[bytes, ...], ...] = ()

    def of(self, sequence: int) -> Hop:
        """The hop of one of them."""
        if not self.places:
            return self.hop
        count, place = self.last - self.first + 1, sequence - self.first
        went = [any(place in places_in(pick, count) for pick in picks) for picks in self.places]
        return msgspec.structs.replace(self.hop, clients=tuple(compress(self.hop.clients, went)))


class Memory:
    """The last hops, oldest first, and counts since the start."""

    def __init__(self, broker: str) -> None:
        self.broker = broker
        self.counts: Counter[str] = Counter()
        self._ring: deque[Noted] = deque(maxlen=limits.HOPS_KEPT_MAX)

    def find(self, publisher: str, sequence: int, *, fast: bool = False) -> list[Hop]:
        return [
            noted.of(sequence)
            for noted in self._ring
            if noted.first <= sequence <= noted.last and (noted.publisher, noted.fast) == (publisher, fast)
        ]

    def note(self, inputs: Iterable[Input], effects: Iterable[Effect], names: dict[str, str], now: int) -> None:
        """Notes a step; `names` has the neighbour of each link."""
        for given in inputs:
            if isinstance(given, Came) and isinstance(given.message, Copies) and given.link in names:
                self._copies(given.message, "came", names[given.link], now)
        for effect in effects:
            if isinstance(effect, Send) and isinstance(effect.message, Copies):
                self._copies(effect.message, "sent", names.get(effect.link, ""), now)
            elif isinstance(effect, Append):
                self._records(effect, now)

    def visited(self, delivery: Deliver, client: str, refusal: str, now: int) -> None:
        """Notes that a subscriber let an agvent in, or why not."""
        what = "refused" if refusal else "admitted"
        hop = Hop(now, what, self.broker, clients=(client,), reason=refusal)
        self._ring.append(_noted(delivery, hop))
        self.counts[f"agvents_{what}"] += 1

    def _copies(self, copies: Copies, what: str, peer: str, now: int) -> None:
        publication = copies.publication
        homes = tuple(target.home for target in copies.targets)
        self._ring.append(_noted(publication, Hop(now, what, self.broker, peer, homes)))
        self.counts[f"copies_{what}"] += publication.count

    def _records(self, effect: Append, now: int) -> None:
        for record in effect.records:
            if isinstance(record, (Accepted, Arrived)):
                self._event(record, now)
            if isinstance(record, (Accepted, Visited)):
                self._stages(record, now)
            if isinstance(record, Acknowledged):
                self.counts["acknowledgements"] += 1
            elif isinstance(record, (Noticed, Curtailed)):
                self.counts["gaps"] += 1

    def _stages(self, record: Accepted | Visited, now: int) -> None:
        for stage in stages_of(record):
            hop = Hop(now, stage.what, self.broker, stage.to, stage.homes, stage.clients, stage.reason, stage.path)
            self._ring.append(_noted(record.publication, hop))
            self.counts[f"journeys_{stage.what}"] += 1

    def _event(self, record: Accepted | Arrived, now: int) -> None:
        publication = record.publication
        if isinstance(record, Accepted):
            fault = next((answered.fault for answered in record.entered.answers if answered.fault), "")
            homes = tuple(target.home for target in record.targets)
            self._ring.append(_noted(publication, Hop(now, "entered", self.broker, homes=homes, reason=fault)))
            self.counts["events_entered"] += publication.count
        else:
            hop = Hop(now, "arrived", self.broker, "", (), tuple(client for client, _ in record.deliveries))
            self._ring.append(_noted(publication, hop, record.places))
            self.counts["events_arrived"] += publication.count
            self.counts["deliveries_queued"] += _deliveries(record)


def _deliveries(record: Arrived) -> int:
    """The events that were queued for clients, each once for each client."""
    count = record.publication.count
    if not record.places:
        return len(record.deliveries)
    return sum(len({place for pick in picks for place in places_in(pick, count)}) for picks in record.places)


def _noted(what: Publication | Deliver, hop: Hop, places: tuple[tuple[bytes, ...], ...] = ()) -> Noted:
    return Noted(what.publisher, what.first, what.sequence, what.fast, hop, places)
