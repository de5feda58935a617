"""What brokers send again, and why. Whoever sends the same thing to somebody once more has a reason:

    a timeout          its time is over, which is twice as long after each timeout
    a break            one of this broker's links went down or came up, or the broker started anew
    a neighbour        the same copy came here again: its sender had a reason
    a word             Astray: another broker cannot reach whom it passed copies to

A home that asks what is settled does so by the clock.

Without one of these the second copy is waste, and a network that is slow is made slower by it. Judged are copies by
event and home, legs of agvents by instance, and how often somebody is sought: by what crossed links, and when.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from agvent import limits
from agvent.broker.interface import Effect, Input, LinkDown, LinkUp, MessageCame, Send
from agvent.broker.records import InstanceKey
from agvent.broker.tables.journeys import instance_of
from agvent.wire.broker_messages import Answer, Astray, Copies, Delta, Routed, Seek, Travel

if TYPE_CHECKING:
    from agvent.sim.nodes import BrokerNode

SECOND: Final = 1_000_000

QUESTIONS_MAX: Final = 6
"""How often a broker may ask another what is settled, in the time in which its clock makes it ask once: several clients
may move, and each answer that something depends on may be asked for."""

SLACK_US: Final = 1_000
"""A clock's grain."""


LATE_US: Final = 12_000_000
"""How long after its deadline a broker may notice that: the longest pause of a machine, and ticks."""


class SentBefore(msgspec.Struct):
    """When something was sent last, since which reason, and how long the next timeout is at least."""

    at: int
    reason: int
    wait_us: int


class Resends:
    """Looks at all brokers' sends. `needless` has those without a reason."""

    def __init__(self) -> None:
        self.needless: list[str] = []
        self.links: dict[InstanceKey, int] = {}  # how many links each leg of an agvent went over, at most
        self._reasons: dict[str, int] = {}  # broker -> how many reasons it had that concern everything
        self._sent: dict[tuple[str, object], SentBefore] = {}
        self._questions: dict[tuple[str, str], deque[int]] = {}  # asker, asked -> when within the last second

    def stepped(self, node: BrokerNode, inputs: list[Input], effects: list[Effect], now: int) -> None:
        """A broker's step at a time."""
        for given in inputs:
            if type(given) is MessageCame:
                self._came(node.name, given)
            elif isinstance(given, (LinkUp, LinkDown)):
                self._reasons[node.name] = self._reasons.get(node.name, 0) + 1
        for effect in effects:
            if type(effect) is Send:
                self._said(node.name, effect, now)

    def started(self, name: str) -> None:
        """A broker starts, and knows only what is on its disk."""
        for key in [key for key in self._sent if key[0] == name]:
            del self._sent[key]

    def _came(self, name: str, given: MessageCame) -> None:
        message = given.message
        if isinstance(message, Copies):
            for target in message.targets:
                self._sent.pop((name, _key(message, target.home)), None)
        elif isinstance(message, Routed):
            if isinstance(message.body, (Seek, Answer)):
                self._sent.pop((name, (message.body.broker,)), None)
            elif isinstance(message.body, Astray):
                self._reasons[name] = self._reasons.get(name, 0) + 1

    def _said(self, name: str, effect: Send, now: int) -> None:
        message = effect.message
        if isinstance(message, Copies):
            for target in message.targets:
                self._judge(name, _key(message, target.home), now, limits.ANSWER_WAIT_US)
        elif isinstance(message, Travel):
            self._travelled(name, message, now)
        elif isinstance(message, Routed) and len(message.trace) == 1:
            if message.body == Seek(name):
                self._judge(name, message.targets, now, limits.SEEK_WAIT_US)
            elif isinstance(message.body, Delta):
                self._asked(name, message.targets, message.body, now)

    def _asked(self, name: str, targets: tuple[str, ...], delta: Delta, now: int) -> None:
        """A Delta that changes nothing asks what is settled: by the clock, and not as fast as answers come."""
        if delta.roots or delta.ended or not delta.previous:
            return
        for target in targets:
            asked = self._questions.setdefault((name, target), deque())
            asked.append(now)
            while asked[0] <= now - SECOND:
                asked.popleft()
            if len(asked) > QUESTIONS_MAX * SECOND // min(limits.TICK_US, SECOND):
                self.needless.append(f"{name} asked {target} what is settled {len(asked)} times within a second")
                asked.clear()

    def _travelled(self, name: str, travel: Travel, now: int) -> None:
        instance = instance_of(travel.entered, travel.publication, travel.journey.path)
        self.links[instance] = max(len(travel.trace), self.links.get(instance, 0))
        if len(travel.trace) == 1:
            self._judge(name, instance, now, limits.ANSWER_WAIT_US)
            if now > travel.journey.deadline + LATE_US:
                self.needless.append(f"{name} sent {instance} after its time was over")

    def _judge(self, name: str, what: object, now: int, wait_us: int) -> None:
        reason = self._reasons.get(name, 0)
        before = self._sent.get((name, what))
        if before is None or (before.reason != reason and before.at != now):
            self._sent[name, what] = SentBefore(now, reason, wait_us)
            return
        if before.at == now:
            return  # to another neighbour in the same step
        if now - before.at < before.wait_us - SLACK_US:
            self.needless.append(f"{name} sent {what} again after {(now - before.at) / 1e6:.3f} s, without a reason")
        before.at, before.wait_us = now, min(2 * before.wait_us, limits.ANSWER_WAIT_MAX_US)


def _key(copies: Copies, home: str) -> tuple[str, int, str, int, int, str]:
    entered, publication = copies.entered, copies.publication
    return entered.entry, entered.incarnation, publication.publisher, publication.sequence, entered.boot, home
