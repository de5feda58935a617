"""The write-ahead rule: what a message promises is on the disk of its sender when the message leaves it.

The rules are those of docs/broker.md and docs/reference/journal.md, one for each kind of message: the records that it
rests on. Nothing of a broker's tables counts, and nothing of how it makes messages wait. Fast events promise nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from agvent.broker.interface import Effect, Input, MessageCame, Send
from agvent.broker.records import Record
from agvent.broker.tables.chains import ChainSource
from agvent.broker.tables.custody import EventKey
from agvent.broker.tables.journeys import instance_in, instance_of
from agvent.event import EventId
from agvent.sim.disk_facts import DiskFacts
from agvent.sim.nodes import peer_of
from agvent.wire.broker_messages import (
    Adverts,
    Applied,
    Body,
    Claim,
    Confirm,
    Copies,
    Delta,
    Handing,
    Landed,
    Report,
    Routed,
    Took,
    Travel,
)
from agvent.wire.client_messages import (
    Advertise,
    Advertised,
    Attached,
    Deliver,
    Done,
    Gap,
    Move,
    Published,
    Refused,
    Subscribe,
    Subscribed,
    Unadvertise,
    Unsubscribe,
)
from agvent.wire.names import client_key, name_of

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode
    from agvent.sim.world import World

REQUESTS: Final = (Advertise, Unadvertise, Subscribe, Unsubscribe, Move)


class SeenRequest(msgspec.Struct, frozen=True):
    """A client's request, and how often its subscription had ended on the disk when it came."""

    message: Any
    ended: int


class WriteAhead:
    """What each broker's disk says, what its clients asked, and which messages were ahead of it."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: list[str] = []
        self._facts: dict[tuple[str, int], DiskFacts] = {}
        self._asked: dict[tuple[str, str], dict[int, SeenRequest]] = {}  # broker, link -> request -> what
        self._heard_gone: set[tuple[str, int, str, int]] = set()  # a broker, and who it was told is gone
        self._broker_rules: dict[type, Callable[[DiskFacts, Any], str]] = {
            Adverts: self._adverts,
            Copies: self._copies,
            Took: self._took,
            Travel: self._travel,
            Routed: self._routed,
        }
        self._body_rules: dict[type, Callable[[DiskFacts, Any], str]] = {
            Delta: self._delta,
            Claim: self._claim,
            Handing: self._handing,
            Landed: self._landed,
            Report: self._report,
        }
        self._client_rules: dict[type, Callable[[DiskFacts, str, str, Any], str]] = {
            Published: self._published,
            Refused: self._refused,
            Attached: self._attached,
            Subscribed: self._subscribed,
            Advertised: self._advertised,
            Done: self._done,
            Deliver: self._deliver,
        }

    # What the world reports

    def synced(self, node: BrokerNode, records: list[Record]) -> None:
        """Records are on a broker's disk."""
        facts = self._of(node)
        for record in records:
            facts.add(record)

    def _of(self, node: BrokerNode) -> DiskFacts:
        key = (node.name, node.incarnation)
        facts = self._facts.get(key)
        if facts is None:
            facts = self._facts[key] = DiskFacts(*key)
        return facts

    def stepped(self, node: BrokerNode, inputs: list[Input], effects: list[Effect]) -> None:
        """What a broker was told in a step, and what it sends."""
        for given in inputs:
            if type(given) is not MessageCame:
                continue
            if type(given.message) in REQUESTS:
                self._ask(node, given.link, given.message)
            elif type(given.message) is Adverts and given.message.gone:
                self._heard_gone.add((node.name, node.incarnation, given.message.owner, given.message.incarnation))
        for effect in effects:
            if type(effect) is Send:
                kind = type(effect.message)
                if (rule := self._broker_rules.get(kind)) is not None:
                    self._judge(node, effect, rule(self._of(node), effect.message))
                elif (said := self._client_rules.get(kind)) is not None:
                    client = self.world.clients[peer_of(effect.link)].client
                    self._judge(node, effect, said(self._of(node), effect.link, client, effect.message))

    def _ask(self, node: BrokerNode, link: str, message: Any) -> None:
        ended = 0
        if isinstance(message, Unsubscribe):
            client = self.world.clients[peer_of(link)].client
            ended = self._of(node).closed.get((client, message.subscription), 0)
        self._asked.setdefault((node.name, link), {})[message.request] = SeenRequest(message, ended)

    def _judge(self, node: BrokerNode, effect: Send, missing: str) -> None:
        if missing:
            body = effect.message.body if isinstance(effect.message, Routed) else effect.message
            at_s = (self.world.now - self.world.began) / 1e6
            kind = type(body).__name__
            self.found.append(f"{node.name} sent {effect.link} {kind} at {at_s:.6f} s before {missing} was on its disk")

    # Between brokers

    def _adverts(self, facts: DiskFacts, adverts: Adverts) -> str:
        """An owner answers for its own, and for a broker that is gone the one that said so. Told from memory, that
        comes without the way it took: a broker passes on what it was told itself."""
        said = (facts.broker, facts.incarnation, adverts.owner, adverts.incarnation)
        says = adverts.gone and adverts.trace[0][0] == facts.broker and said not in self._heard_gone
        if adverts.owner != facts.broker and not says:
            return ""
        is_there = facts.owned.get(adverts.owner, (0, 0)) >= (adverts.incarnation, adverts.version)
        return "" if is_there else f"version {adverts.version} of {adverts.owner}'s advertisements"

    def _copies(self, facts: DiskFacts, copies: Copies) -> str:
        entered, publication = copies.entered, copies.publication
        if publication.fast or (entered.entry, entered.incarnation) != (facts.broker, facts.incarnation):
            return ""  # a broker on the way may pass it on at once: the entry has it
        event = EventId(publication.publisher, publication.sequence)
        return "" if event in facts.entered else f"the event {event}"

    def _took(self, facts: DiskFacts, took: Took) -> str:
        key = EventKey(
            entry=took.entry,
            incarnation=took.incarnation,
            publisher=took.publisher,
            sequence=took.sequence,
            boot=took.boot,
        )
        if key.boot or (key.entry, key.incarnation) == (facts.broker, facts.incarnation):
            return ""
        reached = facts.arrived.get(ChainSource(key.entry, key.incarnation, key.publisher), 0)
        for home in took.homes:
            has_arrived = home == facts.broker and reached >= key.sequence
            if not has_arrived and (key, home) not in facts.kept and not self._is_void(key.entry, home):
                return f"the copy of {key.publisher}:{key.sequence} for {home}"
        return ""

    def _is_void(self, entry: str, home: str) -> bool:
        """May it be a copy from or for what a broker was before it lost its disk or left?"""
        ended = {name for name, _ in self.world.history.lost_disks}
        ended |= {node.name for node in self.world.brokers.values() if node.left}
        return not ended.isdisjoint((entry, home))

    def _travel(self, facts: DiskFacts, travel: Travel) -> str:
        journey, entered = travel.journey, travel.entered
        if journey.origin != facts.broker or len(travel.trace) > 1:
            return ""
        event = EventId(travel.publication.publisher, travel.publication.sequence)
        stop = instance_of(entered, travel.publication, journey.path[:-1])
        is_entry = (entered.entry, entered.incarnation) == (facts.broker, facts.incarnation)
        is_there = stop in facts.stopped or (is_entry and event in facts.entered)
        return "" if is_there else f"the stop of {event} that it departs from"

    def _routed(self, facts: DiskFacts, routed: Routed) -> str:
        if routed.trace[0][0] != facts.broker or _sender(routed.body) not in ("", facts.broker):
            return ""  # it is passed on, perhaps from here on as a broadcast
        if isinstance(routed.body, Landed) and routed.broadcast:
            return ""  # it does not say whose it is
        if isinstance(routed.body, Confirm):
            return self._confirm(facts, routed.targets[0], routed.body)
        if isinstance(routed.body, Applied):
            return self._applied(facts, routed.targets[0], routed.body)
        rule = self._body_rules.get(type(routed.body))
        return rule(facts, routed.body) if rule is not None else ""

    def _confirm(self, facts: DiskFacts, entry: str, confirm: Confirm) -> str:
        for publisher, sequence in confirm.durable.items():
            reached = [
                last for chain, last in facts.arrived.items() if (chain.entry, chain.publisher) == (entry, publisher)
            ]
            if max(reached, default=0) < sequence:
                return f"the arrival of {publisher}:{sequence}"
        return ""

    def _delta(self, facts: DiskFacts, delta: Delta) -> str:
        if delta.position > facts.position:
            return f"position {delta.position} of its stream"
        for root in delta.roots:
            if facts.roots.get(root.subscription.id, 0) < root.version:
                return f"version {root.version} of {root.subscription.id}"
        for one in delta.considered:
            if facts.owned.get(one.entry, (0, 0)) < (one.incarnation, one.version):
                return f"version {one.version} of {one.entry}'s advertisements"
        return ""

    def _applied(self, facts: DiskFacts, home: str, applied: Applied) -> str:
        if applied.number > facts.heard.get(home, 0):
            return f"number {applied.number} of {home}'s stream"
        return "" if applied.epoch <= facts.epoch else f"epoch {applied.epoch}"

    def _claim(self, facts: DiskFacts, claim: Claim) -> str:
        if not claim.client:
            return ""  # of a home that was given up nothing is taken
        if claim.client not in facts.moved:
            return f"the move of {claim.client}"
        reached = max(facts.handed.get((claim.client, claim.source.broker), 0), claim.source.received)
        return "" if claim.taken <= reached else f"what {claim.source.broker} handed over up to {claim.taken}"

    def _handing(self, facts: DiskFacts, handing: Handing) -> str:
        if handing.drained and handing.source.client in facts.keys - facts.left:
            return f"the end of {handing.source.client}"
        return self._first_unwritten(facts, [passed.delivery for passed in handing.deliveries])

    def _first_unwritten(self, facts: DiskFacts, deliveries: list[Deliver | Gap]) -> str:
        for one in deliveries:
            if isinstance(one, Deliver) and EventId(one.publisher, one.sequence) not in facts.came:
                return f"the arrival of {one.publisher}:{one.sequence}"
        return ""

    def _landed(self, facts: DiskFacts, landed: Landed) -> str:
        return "" if instance_in(landed) in facts.stopped else "what came of it"

    def _report(self, facts: DiskFacts, report: Report) -> str:
        is_there = instance_in(report) in facts.stopped or facts.has_gone
        return "" if is_there else "what came of it"

    # To clients

    def _published(self, facts: DiskFacts, link: str, client: str, published: Published) -> str:
        entered = max(facts.accepted.get(client, 0), facts.rejected.get(client, 0))
        return "" if published.fast or published.sequence <= entered else f"the event {published.sequence}"

    def _refused(self, facts: DiskFacts, link: str, client: str, refused: Refused) -> str:
        is_there = refused.sequence <= facts.rejected.get(client, 0)
        return "" if refused.fast or is_there else f"the rejection of {refused.sequence}"

    def _attached(self, facts: DiskFacts, link: str, client: str, attached: Attached) -> str:
        key = client_key(client, attached.moves)
        return "" if key in facts.keys else f"the client {key}"

    def _subscribed(self, facts: DiskFacts, link: str, client: str, subscribed: Subscribed) -> str:
        asked = self._asked[facts.broker, link][subscribed.request].message
        is_there = facts.opened.get((client, asked.subscription.id), 0) >= asked.version
        return "" if is_there else f"version {asked.version} of {asked.subscription.id}"

    def _advertised(self, facts: DiskFacts, link: str, client: str, advertised: Advertised) -> str:
        type = self._asked[facts.broker, link][advertised.request].message.type.name
        if facts.types.get((client, type)) or self._is_outdated(facts, link, advertised.request, type):
            return ""
        return f"the type {type}"

    def _done(self, facts: DiskFacts, link: str, client: str, done: Done) -> str:
        asked = self._asked[facts.broker, link][done.request]
        message = asked.message
        if isinstance(message, Unsubscribe):
            has_ended = facts.closed.get((client, message.subscription), 0) > asked.ended
            return "" if has_ended or not done.had else f"the end of {message.subscription}"
        if isinstance(message, Unadvertise):
            is_there = facts.types.get((client, message.type), False)
            is_outdated = self._is_outdated(facts, link, done.request, message.type)
            return "" if not is_there or is_outdated else f"the end of the type {message.type}"
        names = {name_of(key) for key in facts.moved}
        return "" if not message.sources or client in names else f"the move of {client}"

    def _is_outdated(self, facts: DiskFacts, link: str, request: int, type: str) -> bool:
        """Has the client asked for something else since about this type?"""
        later = (one.message for number, one in self._asked[facts.broker, link].items() if number > request)
        return any(
            (isinstance(one, Advertise) and one.type.name == type)
            or (isinstance(one, Unadvertise) and one.type == type)
            for one in later
        )

    def _deliver(self, facts: DiskFacts, link: str, client: str, delivery: Deliver) -> str:
        return "" if delivery.fast else self._first_unwritten(facts, [delivery])


def _sender(body: Body) -> str:
    """The broker that speaks, if the body says so."""
    if isinstance(body, (Delta, Confirm, Claim)):
        return body.home
    if isinstance(body, Handing):
        return body.source.broker
    if isinstance(body, Applied):
        return body.entry
    return body.broker if isinstance(body, Report) else ""
