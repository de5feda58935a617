"""What a broker's process and its sandbox host say to each other over a pipe: a length, then MessagePack."""

from __future__ import annotations

import struct
from typing import IO, Any, Final

import msgspec

from agvent.agents.code import SignedProgram
from agvent.agents.sandbox import Arrival, Arrived, Quarantined, Task
from agvent.agents.stops import Decision, Stop
from agvent.errors import WireError
from agvent.sandbox.session import Allowance
from agvent.wire.codec import extended, extension
from agvent.wire.parts import Answered

LENGTH: Final = struct.Struct(">I")


class Said(msgspec.Struct, frozen=True, gc=False, array_like=True, tag_field="$"):
    """A request or a reply. A reply has the number of its request."""


class Begin(Said, frozen=True, tag=1):
    """The first request: who may bring code, and what each principal may use."""

    number: int
    grants: dict[str, frozenset[bytes]]
    allowances: dict[str, Allowance]
    workers: int


class Admit(Said, frozen=True, tag=2):
    """Without `load` it is not tried: it has loaded in a host before."""

    number: int
    signed: SignedProgram
    load: bool = True


class Run(Said, frozen=True, tag=3):
    number: int
    tasks: tuple[Task, ...]


class Arrive(Said, frozen=True, tag=4):
    number: int
    arrival: Arrival


class ListQuarantined(Said, frozen=True, tag=5):
    number: int


class Release(Said, frozen=True, tag=6):
    number: int
    program: str


class Grant(Said, frozen=True, tag=7):
    """A principal may bring code that is signed with this key."""

    number: int
    principal: str
    key: bytes


class Route(Said, frozen=True, tag=8):
    number: int
    stops: tuple[Stop, ...]


class Forget(Said, frozen=True, tag=9):
    """A program makes room for others."""

    number: int
    program: str


class Begun(Said, frozen=True, tag=11):
    """The host is ready; `key` is the public half of what publishers hide fields for."""

    number: int
    key: bytes


class Admitted(Said, frozen=True, tag=12):
    """`reason` says why not, if not."""

    number: int
    reason: str


class Ran(Said, frozen=True, tag=13):
    number: int
    answers: tuple[tuple[Answered, ...], ...]


class HasArrived(Said, frozen=True, tag=14):
    number: int
    arrived: Arrived


class Listed(Said, frozen=True, tag=15):
    number: int
    quarantined: tuple[Quarantined, ...]


class Released(Said, frozen=True, tag=16):
    number: int
    held: bool


class Granted(Said, frozen=True, tag=17):
    number: int


class HasRouted(Said, frozen=True, tag=18):
    number: int
    decisions: tuple[Decision, ...]


class Forgotten(Said, frozen=True, tag=19):
    number: int


Request = Begin | Admit | Run | Arrive | ListQuarantined | Release | Grant | Route | Forget
Reply = Begun | Admitted | Ran | HasArrived | Listed | Released | Granted | HasRouted | Forgotten

_encoder = msgspec.msgpack.Encoder(enc_hook=extended)
_decoder = msgspec.msgpack.Decoder(Request | Reply, ext_hook=extension)


def fault_reply(request: Request, fault: str) -> Reply:
    """The reply to a request for a program, if all of it is one fault."""
    match request:
        case Run(number, tasks):
            return Ran(number, tuple(tuple(Answered(call, None, fault) for call in task.calls) for task in tasks))
        case Arrive(number):
            return HasArrived(number, Arrived(fault=fault))
        case Route(number, stops):
            return HasRouted(number, (Decision(fault=fault),) * len(stops))
        case Admit(number):
            return Admitted(number, fault)
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
