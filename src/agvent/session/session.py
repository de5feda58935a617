"""A client's session with its home broker.

The caller's methods queue messages, `receive` takes what the broker says and gives what the caller should know, and
`take` gives what must be sent. The states of the link, as the session sees it:

    down       nothing goes out; what the caller asks is kept
    attaching  Attach says what this client has and will send; nothing else goes out
    attached   the home has answered; everything unanswered was said again, and new messages follow

The states of a publication are gathered, unsent, sent (at most `credit` of them), acknowledged. A request is unanswered
or answered. A delivery is given, done with, acknowledged. Invariants:

- Sequences, versions and requests only grow, and none is ever given to anything else.
- A request stays in `requests` until it is answered or superseded, a publication in `_unacknowledged` until a broker
  has it on disk.
- Requests whose order counts go out in the order they were asked, each at most once on a link.
- A delivery is given once, in order, and acknowledged when the caller is done with it; with `prompt`, at once.

An error when a link breaks is the obvious alternative, and wrong: the caller cannot know which messages the broker has.
A retry under a new number could publish twice; no retry could lose the event. Under the old number, the broker
recognises the repeat. Another broker cannot: it has not seen the first one. So publications that were sent elsewhere
say so (`retried`), and the homes drop the second copy.

After a move the new home is told everything that some home has confirmed, then where the client was before, then the
rest.

Cost: memory for all that is unacknowledged and unanswered, which the driver has to bound. The session outlives its
links, not its process: what it keeps would have to be saved for that.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, pairwise, takewhile
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from agvent import limits
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.session.gathering import Gathering
from agvent.session.given import Given
from agvent.session.inbox import Inbox
from agvent.types import AgventType
from agvent.wire.batches import batches_of, put_together, without
from agvent.wire.client_messages import (
    Advertise,
    Advertised,
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
    Source,
    Subscribe,
    Subscribed,
    Unadvertise,
    Unsubscribe,
)
from agvent.wire.codec import content_of
from agvent.wire.host_messages import ForHost
from agvent.wire.messages import AnyMessage
from agvent.wire.names import client_key
from agvent.wire.parts import Publication
from agvent.wire.sizes import check_event, check_request, size_of

ORDERED: Final = (Advertise, Unadvertise, Subscribe, Unsubscribe, Move)
Request = Advertise | Unadvertise | Subscribe | Unsubscribe | GetAdvertisements | Move | ForHost


class PublicationKey(NamedTuple):
    """A publication of this client's: its quality, and its last sequence."""

    fast: bool
    sequence: int


class Session:
    """One client. Sequences, versions and requests only grow.

    A delivery is acknowledged when the caller is `done` with it; with `prompt`, when it was given. `life` tells this
    process from earlier ones of the same name; of a `guest`'s there is never another."""

    def __init__(self, client: str, *, prompt: bool = True, life: int = 0, guest: bool = False) -> None:
        self.client = client
        self.prompt = prompt
        self.life = life
        self.guest = guest
        self.broker = ""
        self.incarnation = 0
        self.moves = 0
        self.sources: tuple[Source, ...] = ()  # homes before this one, until this one answers for what they have
        self._moved_from: tuple[Source, ...] = ()  # the one for which it does, should its disk be lost
        self.inboxes = (Inbox(), Inbox())  # durable, fast
        self.attached = False
        self.credit = 0
        self.requests: dict[int, Request] = {}  # unanswered, oldest first
        self._unacknowledged: dict[PublicationKey, Publication] = {}  # in order of sequence for each kind
        self._gathering = Gathering()  # events that follow them
        self._gathered = 0  # the last one's sequence
        self.unacknowledged_events = 0  # in all these
        self.types: dict[str, Advertise] = {}
        self.subscriptions: dict[str, Subscribe] = {}
        self._standing: dict[tuple[type, str], Advertise | Subscribe] = {}  # of these, what its home has confirmed
        self._known: set[str] = set()  # subscriptions that some home has confirmed
        self._ended: dict[str, None] = {}  # those that ended, which an older home may not know
        self._sequences = [0, 0]  # durable, fast
        self._tried = [0, 0]  # the highest that were sent to any broker
        self._acknowledged = [0, 0]  # up to which some broker has them; of a batch perhaps a part
        self._sent_to: dict[str, tuple[int, int]] = {}  # broker before -> what was then the highest
        self._retried: list[tuple[tuple[int, int], ...]] = [(), ()]
        self._given = Given()  # durable events, which another home may send again
        self._has_moved = False
        self._request = 0
        self._version = 0
        self._sent: dict[PublicationKey, int] = {}  # publications that went out on this link, and their bytes
        self._sent_bytes = self._sent_events = 0
        self._unsent: deque[PublicationKey] = deque()  # those that did not, in order
        self._owes_received = False  # an acknowledgement of deliveries
        self._out: list[AnyMessage] = []
        self._unasked: deque[Request] = deque()  # requests whose order counts and that have not gone out, in order
        self._awaited = 0  # a large one that they would overtake, until it is answered
        self._messages: dict[type[AnyMessage], Callable[[Any], list[AnyMessage]]] = {
            Deliver: self._delivered,
            Gap: self._delivered,
            Published: self._published,
            Attached: self._attached,
        }

    # What the caller asks

    def advertise(self, type: AgventType, code: bytes = b"") -> int:
        """Says that this client will publish events of a type; `code` is what agvents of it run."""
        check_request(Advertise(0, type, code))
        self._supersede(type.name, Advertise, Unadvertise)
        message = self.types[type.name] = Advertise(self._next_request(), type, code)
        return self._ask(message)

    def unadvertise(self, type: str) -> int:
        self._supersede(type, Advertise, Unadvertise)
        self.types.pop(type, None)
        self._standing.pop((Advertise, type), None)
        return self._ask(Unadvertise(self._next_request(), type))

    def get_advertisements(self, type: str = "") -> int:
        return self._ask(GetAdvertisements(self._next_request(), type))

    def ask_host(self, asked: ForHost) -> int:
        """Asks the sandbox host beside the home broker; `asked` gets its number here."""
        return self._ask(replace(asked, request=self._next_request()))

    def subscribe(self, subscription: Subscription) -> int:
        """Opens a subscription, or gives one another filter or context."""
        check_request(Subscribe(0, 0, subscription))
        self._supersede(subscription.id, Subscribe, Unsubscribe)
        self._ended.pop(subscription.id, None)
        self._version += 1
        message = Subscribe(self._next_request(), self._version, subscription)
        self.subscriptions[subscription.id] = message
        return self._ask(message)

    def unsubscribe(self, id: str) -> int:
        self._supersede(id, Subscribe, Unsubscribe)
        self.subscriptions.pop(id, None)
        self._known.discard(id)
        self._standing.pop((Subscribe, id), None)
        self._ended[id] = None
        if len(self._ended) > limits.CLIENT_SUBSCRIPTIONS_MAX:
            del self._ended[next(iter(self._ended))]
        return self._ask(Unsubscribe(self._next_request(), id))

    def publish(
        self,
        event: Event | Mapping[str, Any],
        *,
        to: str = "",
        destinations: tuple[str, ...] = (),
        expires: int = 0,
        fast: bool = False,
    ) -> int:
        """Publishes an event and gives its sequence; it goes out when the broker's credit allows, together with its
        neighbours."""
        content, options = content_of(event), (to, destinations, expires, fast)
        if to or destinations or len(content) > limits.EVENT_BYTES_MAX:  # a call for each of many events costs
            check_event(content, to, destinations)
        if not self._gathering.join(content, options):
            self._gather()
            self._gathering.join(content, options)
        self.unacknowledged_events += 1
        self._sequences[fast] += 1
        self._gathered = self._sequences[fast]
        return self._gathered

    def publish_batch(
        self,
        events: Sequence[Event | Mapping[str, Any]],
        *,
        to: str = "",
        destinations: tuple[str, ...] = (),
        expires: int = 0,
        fast: bool = False,
    ) -> int:
        """Publishes events and gives the last one's sequence. If one of them is no event or too large, none is
        published."""
        batches = list(batches_of(events))
        for content, _ in batches:
            check_event(content, to, destinations)
        self._gather()
        for content, count in batches:
            self._sequences[fast] += count
            sequence = self._sequences[fast]
            self._queue(
                Publication(
                    publisher=self.client,
                    sequence=sequence,
                    event=content,
                    to=to,
                    destinations=destinations,
                    expires=expires,
                    fast=fast,
                    life=self.life,
                    count=count,
                )
            )
        return self._sequences[fast]

    def _queue(self, publication: Publication) -> None:
        self.unacknowledged_events += publication.count
        self._put(publication)

    def _gather(self) -> None:
        """Ends what was gathered: it is a publication."""
        if self._gathering:
            self._put(self._gathering.end(self.client, self._gathered, self.life))

    def _put(self, publication: Publication) -> None:
        key = PublicationKey(publication.fast, publication.sequence)
        self._unacknowledged[key] = publication
        self._unsent.append(key)

    @property
    def unacknowledged(self) -> dict[PublicationKey, Publication]:
        """Publications that no broker has acknowledged, by quality and last sequence, in order for each quality."""
        self._gather()
        return self._unacknowledged

    @property
    def sequence(self) -> int:
        """The last sequence of a durable event that was given, or that the broker told of."""
        return self._sequences[False]

    def _next_request(self) -> int:
        self._request += 1
        return self._request

    def _supersede(self, name: str, *kinds: type[Request]) -> None:
        """An unanswered request about the same thing is not said again: it would undo what is asked now."""
        for number, request in list(self.requests.items()):
            if isinstance(request, kinds) and _subject(request) == name:
                del self.requests[number]

    def _ask(self, request: Request) -> int:
        self.requests[request.request] = request
        if self.attached:
            self._say(request)
        return request.request

    def _say(self, request: Request) -> None:
        (self._unasked if isinstance(request, ORDERED) else self._out).append(request)

    def _say_in_order(self) -> None:
        """What a client asks of its home is done in the order it was asked: a large request, which small ones would
        overtake on the link, is waited for."""
        while self._unasked and not self._awaited:
            request = self._unasked.popleft()
            self._out.append(request)
            if size_of(request) > limits.CHUNK_BYTES_MAX:
                self._awaited = request.request

    def check(self) -> None:
        """What this session counts is so, and what it keeps is in order."""
        held = self._unacknowledged
        assert self.unacknowledged_events == sum(one.count for one in held.values()) + len(self._gathering)
        assert self._sent.keys() <= held.keys()
        assert self._sent_bytes == sum(self._sent.values())
        assert self._sent_events == sum(held[key].count for key in self._sent)
        for fast in (False, True):
            places = [(one.first, one.sequence) for key, one in held.items() if key.fast == fast]
            assert places == sorted(places)
            assert all(first > last for (_, last), (first, _) in pairwise(places))
            assert not places or places[-1][1] <= self._sequences[fast]
        assert all(number == one.request <= self._request for number, one in self.requests.items())
        assert all(one.version <= self._version for one in self.subscriptions.values())
        assert self.attached or not (self._unasked or self._awaited)
        for inbox in self.inboxes:
            inbox.check()

    # The link

    def link_up(self) -> None:
        first, fast_first = (
            self._first_unacknowledged(fast=fast) or self._sequences[fast] + 1 for fast in (False, True)
        )
        durable, fast = (inbox.acknowledged for inbox in self.inboxes)
        attach = Attach(
            client=self.client,
            incarnation=self.incarnation,
            received=durable,
            fast_received=fast,
            sequence=first,
            fast_sequence=fast_first,
            broker=self.broker,
            moves=self.moves,
            guest=self.guest,
        )
        self._out = [attach]

    def _first_unacknowledged(self, *, fast: bool) -> int:
        return min((one.first for one in self.unacknowledged.values() if one.fast == fast), default=0)

    def link_down(self) -> None:
        self.attached = False
        self._out.clear()
        self._unasked.clear()
        self._awaited = 0
        for inbox in self.inboxes:
            inbox.begin_anew()

    def take(self) -> list[AnyMessage]:
        """The messages to send now."""
        if self.attached:
            if self._owes_received:  # first: what a request ends is not owed any more, and this was received before
                self._owes_received = False
                self._out.append(Received(*(inbox.acknowledged for inbox in self.inboxes)))
            self._say_in_order()
            if len(self._sent) < self.credit and self._has_room:
                self._gather()
            self._out.extend(Publish(publication) for publication in put_together(self._sendable()))
        out, self._out = self._out, []
        return out

    def _sendable(self) -> Iterator[Publication]:
        while self._unsent and len(self._sent) < self.credit and self._has_room:
            key = self._unsent.popleft()
            publication = self._unacknowledged.get(key)
            if publication is not None:
                self._sent[key] = len(publication.event)
                self._sent_bytes += len(publication.event)
                self._sent_events += publication.count
                self._tried[key.fast] = max(key.sequence, self._tried[key.fast])
                yield publication

    @property
    def _has_room(self) -> bool:
        return self._sent_bytes < limits.PUBLISH_BYTES_MAX and self._sent_events < limits.PUBLISH_EVENTS_MAX

    def receive(self, message: AnyMessage) -> list[AnyMessage]:
        """What the caller should know of a message: nothing of a repeat."""
        take = self._messages.get(type(message), self._answered)
        return take(message)

    def _answered(self, message: AnyMessage) -> list[AnyMessage]:
        """The answer to a request, or something that the broker says by itself."""
        if isinstance(message, Refused) and message.sequence:  # of a publication, unless another broker has it
            return [message] if message.sequence > self._acknowledged[message.fast] else []
        request = getattr(message, "request", 0)
        if request == self._awaited:
            self._awaited = 0
        if isinstance(self.requests.get(request), Move):
            return self._moved(message)
        asked = self.requests.get(request)
        if isinstance(asked, (Advertise, Subscribe)):
            self._stand(asked, message)
        if isinstance(message, (Advertised, Subscribed)) and message.pending:
            return [message] if request in self.requests else []
        if isinstance(message, (Advertised, Subscribed, Done, Refused)) or request:
            return [message] if self.requests.pop(request, None) is not None else []
        return [message]

    def _stand(self, asked: Advertise | Subscribe, answer: AnyMessage) -> None:
        """What a home has confirmed stands, also when it refuses to change it."""
        place = (type(asked), _subject(asked))
        standing: dict[str, Any] = self.subscriptions if isinstance(asked, Subscribe) else self.types
        if not isinstance(answer, Refused):
            self._standing[place] = asked
            if isinstance(asked, Subscribe):
                self._known.add(asked.subscription.id)
        elif place in self._standing:
            standing[_subject(asked)] = self._standing[place]
        else:
            standing.pop(_subject(asked), None)

    def _delivered(self, message: Deliver | Gap) -> list[AnyMessage]:
        inbox = self.inboxes[message.fast]
        given = inbox.take(message)
        if not message.fast:
            given = self._new_in(given)
        if self.prompt:
            for one in given:
                inbox.done(one.number, one.number)
            self._owes_received = True
        return [*given]

    def _new_in(self, given: list[Deliver | Gap]) -> list[Deliver | Gap]:
        """What no home gave before, for what has not ended: one where this client was before may have had another copy,
        and may not know what ended since."""
        if not self._has_moved:
            for one in given:
                if isinstance(one, Deliver):
                    self._given.add(one)
            return given
        new: list[Deliver | Gap] = []
        for one in given:
            rest = self._unended(self._given.add_new(one)) if isinstance(one, Deliver) else one
            if rest is None:
                self.inboxes[False].done(one.number, one.number)
                self._owes_received = True
            else:
                new.append(rest)
        return new

    def _unended(self, delivery: Deliver | None) -> Deliver | None:
        """What of a delivery is for subscriptions that have not ended, if anything."""
        if delivery is None or not self._ended:
            return delivery
        for id in delivery.subscriptions:
            if id in self._ended:
                delivery = without(delivery, id)
        return delivery if delivery.subscriptions else None

    def done(self, message: Deliver | Gap, until: int | None = None) -> None:
        """The caller is done with a delivery, or as far as its event of this number: that will not come again, whatever
        happens to this process."""
        inbox = self.inboxes[message.fast]
        before = inbox.acknowledged
        inbox.done(message.number, message.number if until is None else until)
        if inbox.acknowledged > before:
            self._owes_received = True

    def _published(self, message: Published) -> list[AnyMessage]:
        self.credit = max(message.credit, 1)  # one may always knock, or nobody would tell when there is room again
        self._acknowledged[message.fast] = max(message.sequence, self._acknowledged[message.fast])
        ours = (key for key in self._unacknowledged if key.fast == message.fast)
        done = list(takewhile(lambda key: key.sequence <= message.sequence, ours))
        for key in done:
            count = self._unacknowledged.pop(key).count
            self.unacknowledged_events -= count
            if key in self._sent:
                self._sent_bytes -= self._sent.pop(key)
                self._sent_events -= count
        rest = (one for key, one in self._unacknowledged.items() if key.fast == message.fast)
        is_begun = any(one.first <= message.sequence for one in islice(rest, 1))  # a batch that was taken apart
        return [message] if done or is_begun else []

    def _attached(self, message: Attached) -> list[AnyMessage]:
        """Says again what was not answered; to a new home, or one that does not know it any more, everything that is to
        hold."""
        self.attached, self.credit = True, message.credit
        self._sent.clear()
        self._sent_bytes = self._sent_events = 0
        known, home = (self.broker, self.incarnation), (message.broker, message.incarnation)
        lost = known != ("", 0) and (known != home or message.moves != self.moves)
        moved = lost and self.broker != message.broker
        if moved:
            self._leave_home()
        self.broker, self.incarnation, self.moves = message.broker, message.incarnation, message.moves
        told: list[AnyMessage] = []
        if moved or known == ("", 0):  # at the same broker, what it accepted is this process's own
            told = self._step_over(message)
        if lost:
            self._retry_elsewhere()
            self.inboxes = (self.inboxes[False] if moved else Inbox(), Inbox())
        elif known == ("", 0):
            self._step_over_versions(message.version)
        for inbox, received in zip(self.inboxes, (message.received, message.fast_received), strict=True):
            inbox.begin_after(received)
        self._unsent = deque(self.unacknowledged)
        if lost:
            self._say_all_again()
        for request in self._in_order_of_moving():
            self._say(request)
        reason = "lost_disk" if known != home else "moved"
        notice = Gap(
            number=0,
            after=0,
            behind=0,
            publisher="",
            first=0,
            last=0,
            fast=False,
            reason=reason,
            subscriptions=tuple(self.subscriptions),
        )
        return [message, *told, notice] if lost and not moved and self.subscriptions else [message, *told]

    def _say_all_again(self) -> None:
        """Types and subscriptions, where this client was before, and then what ends subscriptions: of what is handed
        over, too."""
        self._standing.clear()
        for name, advertise in list(self.types.items()):
            self.types[name] = replace(advertise, request=self._number_of(advertise))
            self._again(self.types[name])
        for id, subscribe in list(self.subscriptions.items()):
            request = self._number_of(subscribe)
            self._supersede(id, Subscribe, Unsubscribe)
            self._version += 1  # at a home that knows nothing of the versions before
            self.subscriptions[id] = Subscribe(request, self._version, subscribe.subscription)
            self._again(self.subscriptions[id])
        for number in [number for number, request in self.requests.items() if isinstance(request, Move)]:
            del self.requests[number]
        self.sources = self.sources or self._moved_from
        self._again(Move(self._next_request(), self.sources))

    def _number_of(self, request: Request) -> int:
        """Its own if somebody waits for the answer."""
        return request.request if request.request in self.requests else self._next_request()

    def _in_order_of_moving(self) -> list[Request]:
        """The unanswered requests. Where one is a Move, the new home learns first of what it answers for: it will tell
        the old one to close. A subscription that no home has confirmed is new to it: no other answers for what entered
        before."""
        if not any(isinstance(request, Move) for request in self.requests.values()):
            return list(self.requests.values())
        return sorted(self.requests.values(), key=self._turn)

    def _step_over_versions(self, highest: int) -> None:
        """An earlier process of this name has versions of its subscriptions there, and what this one has asked so far
        would be taken for repeats of these: its own come after them."""
        if not highest:
            return
        self._version += highest
        for id, subscribe in self.subscriptions.items():
            later = replace(subscribe, version=subscribe.version + highest)
            self.subscriptions[id] = later
            if later.request in self.requests:
                self.requests[later.request] = later

    def _step_over(self, message: Attached) -> list[AnyMessage]:
        """An earlier process of this name published at this broker, which takes its sequences for repeats: the next
        ones come after them, and what was not acknowledged and has one of them is refused."""
        told: list[AnyMessage] = []
        for fast, accepted in ((False, message.sequence), (True, message.fast_sequence)):
            if accepted <= self._sent_to.get(message.broker, (0, 0))[fast]:
                continue
            reason = f"{message.broker} has another event of this number, of an earlier process of this name"
            for key, one in [(key, one) for key, one in self.unacknowledged.items() if key.fast == fast]:
                told += [
                    Refused(request=0, sequence=n, reason=reason, fast=fast)
                    for n in range(one.first, min(one.sequence, accepted) + 1)
                ]
                if one.sequence <= accepted:
                    del self._unacknowledged[key]
                    self.unacknowledged_events -= one.count
                    told.append(
                        Published(
                            sequence=one.sequence, fast=fast, entry=message.broker, epoch=0, credit=message.credit
                        )
                    )
            self._sequences[fast] = max(self._sequences[fast], accepted)
        return told

    def _leave_home(self) -> None:
        """What the home until now has for this client is to come to the next one."""
        inbox = self.inboxes[False]
        home = Source(self.broker, self.incarnation, client_key(self.client, self.moves), inbox.received)
        self.sources = (home, *(self.sources or self._moved_from))[: limits.SOURCES_MAX]
        self._moved_from = ()
        self._sent_to[self.broker] = (self._tried[False], self._tried[True])
        self._has_moved = True

    def _moved(self, message: AnyMessage) -> list[AnyMessage]:
        """The new home answers for what the old ones have; or will not, and then nobody does."""
        del self.requests[getattr(message, "request", 0)]
        sources, self.sources = self.sources, ()
        self._moved_from = sources[:1]
        if isinstance(message, Refused) and sources and self.subscriptions:
            return [
                Gap(
                    number=0,
                    after=0,
                    behind=0,
                    publisher="",
                    first=0,
                    last=0,
                    fast=False,
                    reason="moved",
                    subscriptions=tuple(self.subscriptions),
                )
            ]
        return []

    def _retry_elsewhere(self) -> None:
        """What was sent and not acknowledged goes to another entry now, and says so: it may come to a home twice."""
        for fast in (False, True):
            first = self._first_unacknowledged(fast=fast)
            if 0 < first <= self._tried[fast]:
                self._retried[fast] = (*self._retried[fast], (first, self._tried[fast]))[-limits.RETRIED_MAX :]
        for key, publication in self.unacknowledged.items():
            if key.sequence <= self._tried[key.fast]:
                self.unacknowledged[key] = replace(publication, retried=self._retried[key.fast])

    def _again(self, request: Request) -> None:
        """A standing request in place of an unanswered one of the same purpose."""
        self.requests[request.request] = request

    def _turn(self, request: Request) -> int:
        """When a client that moved says it."""
        if isinstance(request, Advertise) or (isinstance(request, Subscribe) and _subject(request) in self._known):
            return 0
        return 1 if isinstance(request, Move) else 2


def _subject(request: Request) -> str:
    """The id or the type that a request is about."""
    match request:
        case Subscribe(_, _, subscription):
            return subscription.id
        case Unsubscribe(_, name) | Unadvertise(_, name) | GetAdvertisements(_, name):
            return name
        case Advertise(_, type):
            return type.name
        case _:
            return ""
