"""What a process of a client and its home say to each other, judged link by link as it is said.

It stands at the client's end and sees the messages alone; nothing of the session's or the broker's state counts. A link
begins with Attach and Attached. From then on:

- A request is said once on a link, and answered once with everything settled, before that at most once with somebody
  pending; an answer is to a request of this link, and of its kind. A large one is not overtaken.
- Publications follow one another without a hole, as many unacknowledged as the last credit allows. What is
  acknowledged was said on this link.
- Deliveries are a chain: each names the number before it, and no number comes twice. Small ones come in order. At most
  a window of them is unacknowledged.
- A client acknowledges what it was given and is done with, and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.filters.subscription import Subscription
from agvent.wire.batches import sequences_in
from agvent.wire.client_messages import (
    Advertise,
    Advertised,
    AdvertisementsFound,
    Attach,
    Attached,
    Deliver,
    Done,
    Gap,
    GetAdvertisements,
    Move,
    Publish,
    Published,
    Received,
    Refused,
    Stopped,
    Subscribe,
    Subscribed,
    TypeGone,
    Unadvertise,
    Unsubscribe,
)
from agvent.wire.messages import AnyMessage
from agvent.wire.sizes import size_of

ANSWERS: Final[dict[type, type]] = {
    Advertise: Advertised,
    Unadvertise: Done,
    Subscribe: Subscribed,
    Unsubscribe: Done,
    Move: Done,
    GetAdvertisements: AdvertisementsFound,
}
"""The answer to each request, beside Refused."""

ORDERED: Final = (Advertise, Unadvertise, Subscribe, Unsubscribe, Move)
"""Requests that are carried out in the order in which they were asked."""

UNASKED: Final = (Stopped, TypeGone)
"""What a home says by itself, to whoever has the client's name."""

FAULTS_MAX: Final = 3
"""One broken rule may break many more after it."""


class DeliveryTalk(msgspec.Struct):
    """The deliveries of one kind on a link, durable or fast."""

    base: int = 0  # they come after this number
    last: int = 0  # the highest that came
    acknowledged: int = 0
    heard: dict[int, Deliver | Gap] = {}  # by number
    befores: set[int] = set()  # the numbers that they named as before them
    unacknowledged: dict[int, int] = {}  # number -> bytes


class PublicationTalk(msgspec.Struct):
    """The publications of one kind on a link, durable or fast."""

    base: int = 0  # the first one is to have this sequence, or a later one where the home has others
    following: int = 0  # the sequence that comes next; 0 before the first
    accepted: int = 0
    under_way: dict[int, Publish] = {}  # by last sequence


class LinkTalk(msgspec.Struct):
    """What was said on one link so far."""

    attach: Attach | None = None
    attached: Attached | None = None
    asked: dict[int, Any] = {}  # requests, by number
    pending: set[int] = set()  # those answered with somebody pending
    answered: set[int] = set()
    subjects: dict[tuple[str, str], int] = {}  # the last request about each thing
    awaited: int = 0  # a large request that is unanswered
    credit: int = 0
    publications: tuple[PublicationTalk, PublicationTalk] = ()  # type: ignore[assignment]
    deliveries: tuple[DeliveryTalk, DeliveryTalk] = ()  # type: ignore[assignment]


class Conversation:
    """All links of one process; `faults` are the rules that were broken, each as a sentence."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self._talk = LinkTalk()
        self._ended: set[str] = set()  # subscriptions that its caller ended
        self._numbers: tuple[set[int], set[int]] = (set(), set())  # of the deliveries that the caller was given
        self._events: set[tuple[bool, str, int, int]] = set()  # and their events: fast, publisher, life, sequence
        self._highest = [0, 0]  # the highest number that ever came, durable and fast
        self._undone: tuple[dict[int, int], dict[int, int]] = ({}, {})  # number -> what is done of it, and before it
        self._said = {Attach: self._attach, Publish: self._publish, Received: self._received}
        self._heard = {
            Attached: self._attached,
            Published: self._published,
            Deliver: self._delivered,
            Gap: self._delivered,
        }

    def up(self) -> None:
        """A link is there: nothing was said on it."""
        self._talk = LinkTalk(
            publications=(PublicationTalk(), PublicationTalk()), deliveries=(DeliveryTalk(), DeliveryTalk())
        )

    def _fault(self, sentence: str) -> None:
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(sentence)

    def wants(self, asked: Subscription | str) -> None:
        """The caller opens or ends a subscription."""
        if isinstance(asked, str):
            self._ended.add(asked)
        else:
            self._ended.discard(asked.id)

    # What the process says

    def said(self, message: AnyMessage) -> None:
        """The process says something on its link."""
        if self._talk.attached is None and not isinstance(message, Attach):
            self._fault(f"said {type(message).__name__} before it was attached")
        say: Any = self._said.get(type(message), self._ask)
        say(message)

    def _attach(self, attach: Attach) -> None:
        if self._talk.attach is not None:
            self._fault("said Attach twice on one link")
        self._talk.attach = attach
        self._check_done(attach.received, attach.fast_received)

    def _ask(self, request: Any) -> None:
        talk, number = self._talk, request.request
        if number in talk.asked:
            self._fault(f"said request {number} twice on one link")
        talk.asked[number] = request
        if not isinstance(request, ORDERED):
            return
        subject = _subject(request)
        if talk.subjects.get(subject, 0) > number:
            self._fault(f"said request {number} about {subject[1]} after {talk.subjects[subject]}")
        talk.subjects[subject] = number
        if talk.awaited:
            self._fault(f"said request {number} while the large one {talk.awaited} was unanswered")
        elif size_of(request) > limits.CHUNK_BYTES_MAX:
            talk.awaited = number

    def _publish(self, publish: Publish) -> None:
        one = publish.publication
        kind = self._talk.publications[one.fast]
        if one.first != (kind.following or kind.base) and (kind.following or one.first < kind.base):
            self._fault(f"published {one.first} where {kind.following or kind.base} was to come")
        if not 0 < one.count <= limits.BATCH_EVENTS_MAX:
            self._fault(f"published a batch of {one.count} events")
        kind.following = one.sequence + 1
        kinds = self._talk.publications
        if sum(len(each.under_way) for each in kinds) >= self._talk.credit:
            self._fault(f"published {one.sequence} beyond its credit of {self._talk.credit}")
        if sum(_events_left(each) for each in kinds) > limits.PUBLISH_EVENTS_MAX:
            self._fault(f"published {one.sequence} with more than {limits.PUBLISH_EVENTS_MAX} events unacknowledged")
        kind.under_way[one.sequence] = publish

    def _received(self, received: Received) -> None:
        numbers = (received.number, received.fast_number)
        for kind, number, highest in zip(self._talk.deliveries, numbers, self._highest, strict=True):
            went_back = kind.base < kind.acknowledged > number  # below the base, it is done with another home's
            if went_back or number > max(kind.base, highest):
                self._fault(f"acknowledged delivery {number} after {kind.acknowledged}, where {highest} had come")
            kind.acknowledged = max(number, kind.acknowledged)
            for one in [one for one in kind.unacknowledged if one <= number]:
                del kind.unacknowledged[one]
        self._check_done(*numbers)

    def _check_done(self, *numbers: int) -> None:
        for undone, number in zip(self._undone, numbers, strict=True):
            if undone and number > min(undone.values()):
                self._fault(f"acknowledged delivery {number}, and was done up to {min(undone.values())}")

    # What it hears

    def heard(self, message: AnyMessage) -> None:
        """The process hears something from its home."""
        talk = self._talk
        if isinstance(message, Refused) and message.is_of_attaching:
            return
        if talk.attached is None and not isinstance(message, (Attached, *UNASKED)):
            self._fault(f"was told {type(message).__name__} before it was attached")
        hear: Any = self._heard.get(type(message), self._answered)
        hear(message)

    def _attached(self, attached: Attached) -> None:
        talk, attach = self._talk, self._talk.attach
        if attach is None or talk.attached is not None:
            self._fault("was attached without having asked, or twice")
            return
        talk.attached, talk.credit = attached, attached.credit
        talk.publications[False].base, talk.publications[True].base = attach.sequence, attach.fast_sequence
        for kind, number in zip(talk.deliveries, (attached.received, attached.fast_received), strict=True):
            kind.base = kind.last = kind.acknowledged = number
        before, now = (attach.broker, attach.incarnation, attach.moves), _home_of(attached)
        if before == now and attached.received < attach.received:
            self._fault(f"was attached after delivery {attached.received}, and has {attach.received}")
        if attach.incarnation and before != now:
            self._undone[True].clear()  # they are another broker's, or of a queue that is no more
            self._highest[True] = 0
            self._numbers[True].clear()
            if attach.broker == attached.broker:
                self._undone[False].clear()
                self._highest[False] = 0
                self._numbers[False].clear()

    def _published(self, published: Published) -> None:
        kind = self._talk.publications[published.fast]
        if published.sequence >= (kind.following or kind.base):
            self._fault(f"was told that {published.sequence} is accepted, which it did not publish on this link")
        kind.accepted = max(kind.accepted, published.sequence)
        for one in [one for one in kind.under_way if one <= published.sequence]:
            del kind.under_way[one]
        self._talk.credit = max(published.credit, 1)  # one may always be tried

    def _delivered(self, one: Deliver | Gap) -> None:
        kind = self._talk.deliveries[one.fast]
        if not kind.base <= one.after <= one.number - one.number_count or one.after in kind.befores:
            self._fault(f"was given delivery {one.number} after {one.after}, of which that is not true")
        is_small = size_of(one) <= limits.CHUNK_BYTES_MAX
        if one.number in kind.heard or (one.number < kind.last and is_small):
            self._fault(f"was given delivery {one.number} again, or after {kind.last}")
        behind = kind.heard.get(one.behind)
        if one.behind > one.after or (behind is not None and behind.publisher != one.publisher):
            self._fault(f"was given delivery {one.number} behind {one.behind}, which is not the publisher's")
        kind.heard[one.number] = one
        kind.befores.add(one.after)
        if is_small:  # a large one may overtake small ones too: its first chunk goes before them
            kind.last = max(kind.last, one.number)
        self._highest[one.fast] = max(self._highest[one.fast], one.number)
        kind.unacknowledged[one.number] = one.event_bytes

    def _answered(self, message: Any) -> None:
        """The answer to a request, or to a publication; or something that the home says by itself."""
        talk, request = self._talk, getattr(message, "request", 0)
        if isinstance(message, Refused) and message.sequence:
            if message.sequence >= (talk.publications[message.fast].following or 1):
                self._fault(f"was refused {message.sequence}, which it did not publish on this link")
            return
        if not request:
            return
        asked, kind = talk.asked.get(request), type(message)
        if asked is None or kind not in (ANSWERS.get(type(asked), kind), Refused):
            self._fault(f"was told {kind.__name__} of request {request}, which was {type(asked).__name__}")
        if request in talk.answered:
            self._fault(f"was answered twice to request {request}")
        if talk.awaited == request:
            talk.awaited = 0
        if not getattr(message, "pending", ()):
            talk.answered.add(request)
        elif request in talk.pending:
            self._fault(f"was told twice who is pending of request {request}")
        else:
            talk.pending.add(request)

    # What its caller gets, and is done with

    def passed_on(self, message: AnyMessage, told: Sequence[AnyMessage]) -> None:
        """What the session gave its caller of a message. A delivery is given at once if its predecessor was, unless the
        process had it before, here or at another home, or wants it no more."""
        for one in told:
            if isinstance(one, (Deliver, Gap)) and one.number:
                self._numbers[one.fast].add(one.number)
                if isinstance(one, Deliver):
                    self._events.update(_events_of(one))
        if not isinstance(message, (Deliver, Gap)) or message.number in self._numbers[message.fast]:
            return
        kind = self._talk.deliveries[message.fast]
        is_wanted = not self._ended.issuperset(message.subscriptions)
        is_ready = message.behind <= kind.base or message.behind in self._numbers[message.fast]
        if is_wanted and is_ready and (isinstance(message, Gap) or not self._events.issuperset(_events_of(message))):
            self._fault(f"was not given delivery {message.number}, which came")

    def given(self, one: Deliver | Gap) -> None:
        """The caller is given a delivery, and works on it."""
        if one.number:
            self._undone[one.fast][one.number] = one.number - (one.event_count if isinstance(one, Deliver) else 1)

    def done(self, one: Deliver | Gap, until: int) -> None:
        """It is done with it, as far as the event of this number."""
        undone = self._undone[one.fast]
        if one.number in undone:
            undone[one.number] = until
            if until >= one.number:
                del undone[one.number]


def _home_of(attached: Attached) -> tuple[str, int, int]:
    return attached.broker, attached.incarnation, attached.moves


def _events_of(one: Deliver) -> set[tuple[bool, str, int, int]]:
    return {(one.fast, one.publisher, one.life, sequence) for sequence in sequences_in(one)}


def _events_left(kind: PublicationTalk) -> int:
    """How many events were said and are not acknowledged."""
    return sum(min(last - kind.accepted, publish.publication.count) for last, publish in kind.under_way.items())


def _subject(request: Any) -> tuple[str, str]:
    """What a request is about; moves are about one thing."""
    match request:
        case Subscribe():
            return "subscription", request.subscription.id
        case Unsubscribe():
            return "subscription", request.subscription
        case Advertise():
            return "type", request.type.name
        case Unadvertise():
            return "type", request.type
        case _:
            return "home", ""
