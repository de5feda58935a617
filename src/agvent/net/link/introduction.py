"""The first words on a connection: who speaks, to whom, and whether it is welcome. JSON, so that they can grow."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from agvent import limits
from agvent.errors import CallerError, WireError
from agvent.wire.names import MARK

PROTOCOL: Final = 2

GUEST: Final = "guest-"
"""How the name of a client begins that was given none; of a guest of somebody's, what follows that name and a dot."""


class Introduction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whoever dials speaks first. `to` is the broker that is meant, empty for whichever listens there."""

    agvent: int
    kind: Literal["client", "broker", "operator"]
    name: str
    to: str = ""
    token: str = ""


class Welcome(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer", tag="welcome"):
    """`load`: clients that are attached. `home`: the broker keeps deliveries for this client."""

    broker: str
    incarnation: int
    load: int = 0
    home: bool = False


class RejectedIntroduction(msgspec.Struct, frozen=True, kw_only=True, tag_field="answer", tag="rejected"):
    """The connection ends with this. `final`: another try would have the same answer."""

    reason: str
    final: bool = False


Answer = Welcome | RejectedIntroduction


def introduction_of(content: bytes) -> Introduction:
    try:
        introduction = msgspec.json.decode(content, type=Introduction)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not an introduction: {str(error)[:200]}") from None
    if introduction.agvent != PROTOCOL:
        raise WireError(f"protocol {introduction.agvent} is not spoken here, {PROTOCOL} is")
    return introduction


def answer_of(content: bytes) -> Answer:
    try:
        answer: Answer = msgspec.json.decode(content, type=Answer)
    except (ValueError, RecursionError) as error:
        raise WireError(f"not an answer to an introduction: {str(error)[:200]}") from None
    return answer


def check_name(name: str, *, chars_max: int = limits.NAME_CHARS_MAX) -> None:
    """Refuses what cannot name a broker or a client: brokers make keys of names with `/` and `~`."""
    is_marked = "/" in name or MARK in name
    if not 0 < len(name) <= chars_max or is_marked or not name.isprintable() or name != name.strip():
        raise CallerError(
            f"{name[:80]!r} cannot be a name", hint=f"1 to {chars_max} printable characters, no / and no {MARK}"
        )
