"""FIPA-ACL messages as data (FIPA 00061), and the conversations that agvents and manager agents hold in them.

A message travels as plain values: an object whose members are the parameters of the specification, by their own names.
Whoever is not understood is told so, and why.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

import msgspec

LANGUAGE: Final = "agvent-values"
"""The content language: a value of an event."""

ONTOLOGY: Final = "agvent-routing"
"""What routing contents are about: brokers, subscribers, neighbours, budgets."""

PERFORMATIVES: Final = frozenset(
    (
        "accept-proposal", "agree", "cancel", "cfp", "confirm", "disconfirm", "failure", "inform", "inform-if",
        "inform-ref", "not-understood", "propagate", "propose", "proxy", "query-if", "query-ref", "refuse",
        "reject-proposal", "request", "request-when", "request-whenever", "subscribe",
    )
)  # fmt: skip
"""The communicative acts of FIPA 00037."""

CONVERSATIONS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "fipa-query": {"query-ref": ("inform", "refuse", "not-understood")},
    "fipa-request": {"request": ("agree", "refuse", "inform", "not-understood")},
}
"""What a manager agent takes part in: by protocol, what may be said to it, and what it may reply to that."""


class AclMessage(
    msgspec.Struct, frozen=True, kw_only=True, rename="kebab", omit_defaults=True, forbid_unknown_fields=True
):
    """One message. `protocol`, `language` and `ontology` may be left out: then they are those of the conversation."""

    performative: str
    sender: str = ""
    receiver: tuple[str, ...] = ()
    content: Any = None
    language: str = ""
    ontology: str = ""
    protocol: str = ""
    conversation_id: str = ""
    reply_with: str = ""
    in_reply_to: str = ""
    reply_by: datetime | None = None

    def values(self) -> dict[str, Any]:
        """The message as plain values, without the parameters that it does not use."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for field, name in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
            if (value := getattr(self, field)) not in ("", (), None) or name == "performative"
        }


NONSENSE: Final = AclMessage(performative="not-understood")
"""What stands for a message that is none."""


def read_message(values: Any) -> tuple[AclMessage, str]:
    """The message of plain values, and why it is not understood; empty if it is. Nonsense is an empty message."""
    try:
        message = msgspec.convert(values, AclMessage)
    except (msgspec.ValidationError, TypeError, RecursionError) as error:
        return NONSENSE, f"not an ACL message: {error}"[:200]
    return message, misunderstood(message)


def misunderstood(message: AclMessage) -> str:
    """Why a manager agent has no reply to a message; empty if it has."""
    said = message.performative
    if said not in PERFORMATIVES:
        return f"{said[:40]!r} is not a performative"
    protocols = [name for name, acts in CONVERSATIONS.items() if said in acts]
    if not protocols:
        return f"no conversation begins with {said}"
    if message.protocol not in ("", *protocols):
        return f"{said} begins {protocols[0]}, not {message.protocol[:40]!r}"
    if message.language not in ("", LANGUAGE):
        return f"contents are in {LANGUAGE}, not in {message.language[:40]!r}"
    if message.ontology not in ("", ONTOLOGY):
        return f"contents are about {ONTOLOGY}, not about {message.ontology[:40]!r}"
    if message.reply_by is not None and message.reply_by.tzinfo is None:
        return "reply-by has no time zone"
    return ""


def reply_to(message: AclMessage, performative: str, content: Any, *, sender: str, receiver: str) -> AclMessage:
    """A reply in the conversation of a message."""
    protocols = [name for name, acts in CONVERSATIONS.items() if message.performative in acts]
    return AclMessage(
        performative=performative,
        sender=sender,
        receiver=(receiver,),
        content=content,
        language=LANGUAGE,
        ontology=ONTOLOGY,
        protocol=message.protocol or (protocols[0] if protocols else ""),
        conversation_id=message.conversation_id,
        in_reply_to=message.reply_with,
    )
