"""What a broker's process and its sandbox host say to each other over a pipe: a length, then MessagePack."""

from __future__ import annotations

import struct
from typing import IO, Any, Final

import msgspec

from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Quarantined, Task
from agvent.agents.execution.signed_programs import SignedProgram
from agvent.agents.travel.stop import Decision, Stop
from agvent.errors import WireError
from agvent.sandbox.program_session import Allowance
from agvent.wire.codec import extended, extension
from agvent.wire.parts import Answered

LENGTH: Final = struct.Struct(">I")


class HostMessage(msgspec.Struct, frozen=True, gc=False, array_like=True, tag_field="$"):
    """A request or a reply. A reply has the number of its request."""


class HostBegin(HostMessage, frozen=True, tag=1):
    """The first request: who may bring code, and what each principal may use."""

    number: int
    grants: dict[str, frozenset[bytes]]
    allowances: dict[str, Allowance]
    workers: int


class HostAdmit(HostMessage, frozen=True, tag=2):
    """Without `load` it is not tried: it has loaded in a host before."""

    number: int
    signed: SignedProgram
    load: bool = True


class HostRun(HostMessage, frozen=True, tag=3):
    number: int
    tasks: tuple[Task, ...]


class HostArrive(HostMessage, frozen=True, tag=4):
    number: int
    arrival: Arrival


class HostListQuarantined(HostMessage, frozen=True, tag=5):
    number: int


class HostRelease(HostMessage, frozen=True, tag=6):
    number: int
    program: str


class HostTrust(HostMessage, frozen=True, tag=7):
    """A principal may bring code that is signed with this key."""

    number: int
    principal: str
    key: bytes


class HostRoute(HostMessage, frozen=True, tag=8):
    number: int
    stops: tuple[Stop, ...]


class HostForget(HostMessage, frozen=True, tag=9):
    """A program makes room for others."""

    number: int
    program: str


class HostReady(HostMessage, frozen=True, tag=11):
    """The host is ready; `key` is the public half of what publishers hide fields for."""

    number: int
    key: bytes


class HostAdmitted(HostMessage, frozen=True, tag=12):
    """`reason` says why not, if not."""

    number: int
    reason: str


class HostRan(HostMessage, frozen=True, tag=13):
    number: int
    answers: tuple[tuple[Answered, ...], ...]


class HostArrived(HostMessage, frozen=True, tag=14):
    number: int
    arrived: ArrivalReply


class HostQuarantined(HostMessage, frozen=True, tag=15):
    number: int
    quarantined: tuple[Quarantined, ...]


class HostReleased(HostMessage, frozen=True, tag=16):
    number: int
    held: bool


class HostTrusted(HostMessage, frozen=True, tag=17):
    number: int


class HostRouted(HostMessage, frozen=True, tag=18):
    number: int
    decisions: tuple[Decision, ...]


class HostForgotten(HostMessage, frozen=True, tag=19):
    number: int


Request = (
    HostBegin
    | HostAdmit
    | HostRun
    | HostArrive
    | HostListQuarantined
    | HostRelease
    | HostTrust
    | HostRoute
    | HostForget
)
Reply = (
    HostReady
    | HostAdmitted
    | HostRan
    | HostArrived
    | HostQuarantined
    | HostReleased
    | HostTrusted
    | HostRouted
    | HostForgotten
)

_encoder = msgspec.msgpack.Encoder(enc_hook=extended)
_decoder = msgspec.msgpack.Decoder(Request | Reply, ext_hook=extension)


def fault_reply(request: Request, fault: str) -> Reply:
    """The reply to a request for a program, if all of it is one fault."""
    match request:
        case HostRun(number, tasks):
            return HostRan(number, tuple(tuple(Answered(call, None, fault) for call in task.calls) for task in tasks))
        case HostArrive(number):
            return HostArrived(number, ArrivalReply(fault=fault))
        case HostRoute(number, stops):
            return HostRouted(number, (Decision(fault=fault),) * len(stops))
        case HostAdmit(number):
            return HostAdmitted(number, fault)
    raise AssertionError(f"{type(request).__name__} is about no program")


def framed(said: Request | Reply) -> bytes:
    """One of them as it goes over a pipe."""
    content = _encoder.encode(said)
    return LENGTH.pack(len(content)) + content


def write(pipe: IO[bytes], said: Request | Reply) -> None:
    """Writes one; whoever shares a pipe holds a lock."""
    pipe.write(framed(said))
    pipe.flush()


def read(pipe: IO[bytes]) -> Any:
    """The next one; None at the end. A WireError if the other side says what nobody would."""
    head = pipe.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    content = pipe.read(LENGTH.unpack(head)[0])
    try:
        return _decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise WireError(f"the sandbox's pipe is torn: {error}"[:200]) from None
