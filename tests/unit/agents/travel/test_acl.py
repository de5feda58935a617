"""FIPA-ACL messages as data, and who is not understood."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agvent.agents.travel.acl import CONVERSATIONS, PERFORMATIVES, AclMessage, read_message, reply_to


def test_a_message_comes_back_from_its_values() -> None:
    """Every parameter of FIPA 00061 stands under its own name; those that are not used are left out."""
    values = {
        "performative": "query-ref",
        "sender": "house:1",
        "receiver": ["A"],
        "content": {"ref": "targets"},
        "language": "agvent-values",
        "ontology": "agvent-routing",
        "protocol": "fipa-query",
        "conversation-id": "way",
        "reply-with": "q1",
        "in-reply-to": "q0",
        "reply-by": datetime(2026, 1, 1, tzinfo=UTC),
    }
    message, reason = read_message(values)
    assert reason == ""
    assert message.values() == values
    assert AclMessage(performative="inform").values() == {"performative": "inform"}


def test_a_reply_stays_in_its_conversation() -> None:
    """It names the protocol and the conversation, and what it replies to."""
    asked = AclMessage(performative="request", conversation_id="way", reply_with="r7", content={"action": "dispose"})
    assert reply_to(asked, "agree", None, sender="A", receiver="house:1").values() == {
        "performative": "agree",
        "sender": "A",
        "receiver": ["house:1"],
        "language": "agvent-values",
        "ontology": "agvent-routing",
        "protocol": "fipa-request",
        "conversation-id": "way",
        "in-reply-to": "r7",
    }


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (None, "not an ACL message: Expected `object`, got `null`"),
        ({}, "not an ACL message: Object missing required field `performative`"),
        ({"performative": 7}, "not an ACL message: Expected `str`, got `int` - at `$.performative`"),
        (
            {"performative": "inform", "mood": "good"},
            "not an ACL message: Object contains unknown field `mood`",
        ),
        ({"performative": "shout"}, "'shout' is not a performative"),
        ({"performative": "cfp"}, "no conversation begins with cfp"),
        (
            {"performative": "query-ref", "protocol": "fipa-request"},
            "query-ref begins fipa-query, not 'fipa-request'",
        ),
        ({"performative": "request", "language": "kif"}, "contents are in agvent-values, not in 'kif'"),
        ({"performative": "request", "reply-by": datetime(2026, 1, 1)}, "reply-by has no time zone"),  # noqa: DTZ001
        ({"performative": "request", "reply-by": "2026-01-01T00:00:00"}, "reply-by has no time zone"),
        ({"performative": "request", "ontology": "wine"}, "contents are about agvent-routing, not about 'wine'"),
    ],
)
def test_nonsense_is_not_understood(values: Any, reason: str) -> None:
    """What is no message, or of no conversation held here, has a reason."""
    assert read_message(values)[1] == reason


def test_conversations_are_made_of_performatives() -> None:
    """Each act and reply of a conversation is one of FIPA's."""
    said = {act for acts in CONVERSATIONS.values() for act in acts}
    replies = {reply for acts in CONVERSATIONS.values() for all in acts.values() for reply in all}
    assert said | replies <= PERFORMATIVES
