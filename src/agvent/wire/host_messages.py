"""What a client and the sandbox host beside its broker say to each other. The broker itself has no part in them."""

from __future__ import annotations

from typing import Any

from agvent.types import AgventType
from agvent.wire.parts import Answered, BehaviourCall, Message


class GetHostKey(Message, frozen=True, tag=50):
    """A publisher asks whom it hides fields for."""

    request: int


class HostKey(Message, frozen=True, tag=51):
    """The public key of the network's sandbox hosts."""

    request: int
    key: bytes


class Admit(Message, frozen=True, tag=52):
    """A subscriber lets an agvent in: the delivery of this number, which it has not acknowledged."""

    request: int
    number: int
    fast: bool
    subscription: str


class Admitted(Message, frozen=True, tag=53):
    """What the agvent told the subscriber on its arrival, and its type; or why it was not let in."""

    request: int
    type: AgventType
    told: tuple[Any, ...] = ()
    refusal: str = ""


class Invoke(Message, frozen=True, kw_only=True, tag=54):
    """A subscriber calls a behaviour of an agvent that it let in."""

    request: int
    publisher: str
    sequence: int
    fast: bool
    call: BehaviourCall


class Invoked(Message, frozen=True, tag=55):
    request: int
    answered: Answered


class Dispose(Message, frozen=True, tag=56):
    """A subscriber needs an agvent no more. Answered by Done."""

    request: int
    publisher: str
    sequence: int
    fast: bool


class Load(Message, frozen=True, tag=57):
    """A publisher asks whether code that it is about to advertise loads. Answered by Done, or by Refused with the
    reason."""

    request: int
    type: AgventType
    code: bytes


ForHost = GetHostKey | Admit | Invoke | Dispose | Load
