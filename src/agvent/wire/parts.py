"""What the messages are made of. docs/broker.md says when each is sent.

A tag is a message's number on the wire and is never given to another. Names of brokers, clients, types and
subscriptions are text; times are microseconds since 1970 UTC; a sequence, version, position, epoch or number counts
from 1, and 0 stands for none.
"""

from __future__ import annotations

from typing import Any

import msgspec

Trace = tuple[tuple[str, int], ...]
"""The brokers a message passed, the first one first, each with the cost in µs of the link it then went out on."""


class Part(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What messages are made of. Arrays on the wire: half the bytes of maps."""


class Message(Part, frozen=True, tag_field="$"):
    """A part that can stand alone; its tag says which it is."""


class InstanceMessage(Message, frozen=True):
    """A message about one instance of an agvent that finds its own way: its event, and the numbers of the departures
    that lead to it."""

    entry: str
    incarnation: int
    publisher: str
    sequence: int
    path: tuple[int, ...]


class Series(msgspec.Struct, frozen=True, gc=False):
    """A publisher's durable events, or its fast ones: each has sequences of its own."""

    publisher: str
    fast: bool


class Publication(Part, frozen=True):
    """An event as its publisher sent it. Brokers on the way keep `event` as bytes and do not read it.

    `to` is an SQL filter over a subscriber's context, `destinations` the clients it is for (all if empty). `life` tells
    a publisher's process from one before it that had the same name. `retried` are the sequences, from one to another,
    that this life sent to a second entry because the first had not acknowledged them: a home drops the repeat.

    A batch is `count` events, the last of which has this sequence; `event` is then a line for each (lines.py).
    """

    publisher: str
    sequence: int
    event: bytes
    to: str = ""
    destinations: tuple[str, ...] = ()
    expires: int = 0
    fast: bool = False
    life: int = 0
    retried: tuple[tuple[int, int], ...] = ()
    count: int = 1

    @property
    def first(self) -> int:
        """The sequence of its first event."""
        return self.sequence - self.count + 1

    @property
    def series(self) -> Series:
        return Series(self.publisher, self.fast)


class BehaviourCall(Part, frozen=True):
    """A call of a behaviour that some filter makes."""

    name: str
    args: tuple[Any, ...]


class Answered(Part, frozen=True):
    """What a call gave: null where it failed, and then why."""

    call: BehaviourCall
    value: Any
    fault: str = ""


class Entered(Part, frozen=True):
    """Where and when an event entered: the entry broker, its incarnation, its epoch; what its behaviours said there.

    Of a fast event also the entry's `boot`, which is 0 of a durable one, and the publisher's first fast sequence that
    entered since it: an entry forgets fast events with a crash, and their sequences may then begin anew."""

    entry: str
    incarnation: int
    epoch: int
    answers: tuple[Answered, ...] = ()
    boot: int = 0
    began: int = 0


class Target(Part, frozen=True):
    """One home a copy is for: the home's position that the entry had applied, and the predecessor's sequence.

    `late`: the home had not yet answered what the entry advertises, so the entry did not know who wants the event. What
    is in force at the home when the copy arrives decides."""

    home: str
    incarnation: int
    position: int
    predecessor: int
    late: bool = False
