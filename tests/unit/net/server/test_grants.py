"""Grants: what lies wholly inside them passes, and whatever does not is denied by the name of what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from agvent.errors import CallerError, DeniedError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.net.server.grants import Grants, grant_of
from agvent.types import AgventType


def denied(grants: list[str], check: str, what: Any) -> str:
    """What is missing; empty if it is allowed."""
    try:
        getattr(Grants(grants, "ada"), f"check_{check}")(what)
    except DeniedError as error:
        return error.message.removeprefix("denied: 'ada' has no grant `").removesuffix("`")
    return ""


@pytest.mark.parametrize(
    ("grants", "options", "missing"),
    [
        (["subscribe topic:Sports/#"], {"topic": "Sports/NBA"}, ""),
        (["subscribe topic:Sports/#"], {"pattern": "Sports/+/scores"}, ""),
        (["subscribe topic:Sports/#"], {"pattern": "Sports/#", "filter": "score > 3"}, ""),
        (["subscribe topic:Sports/#"], {"pattern": "#"}, "subscribe topic:#"),
        (["subscribe topic:Sports/#"], {"pattern": "+/NBA"}, "subscribe topic:+/NBA"),
        (["subscribe topic:Sports/+"], {"pattern": "Sports/#"}, "subscribe topic:Sports/#"),
        (["subscribe topic:Sports/#"], {"filter": "score > 3"}, "subscribe *"),
        (["subscribe topic:Sports/#"], {}, "subscribe *"),
        (["subscribe type:Book"], {"type": "Book", "filter": "pages > 3"}, ""),
        (["subscribe type:Book"], {"type": "Tape"}, "subscribe type:Tape"),
        (["subscribe channel:42"], {"channel": 42}, ""),
        (["subscribe channel:42"], {"channel": 43}, "subscribe channel:43"),
        (["publish *"], {"topic": "a"}, "subscribe topic:a"),
        (["subscribe *"], {"filter": "a = 1"}, ""),
    ],
)
def test_a_subscription_lies_wholly_inside_a_grant(grants: list[str], options: dict[str, Any], missing: str) -> None:
    """A pattern that reaches beyond the grant is denied, however it is written."""
    assert denied(grants, "subscribe", Subscription(id="s", **options)) == missing


@pytest.mark.parametrize(
    ("grants", "event", "missing"),
    [
        (["publish topic:Sports/#"], Event(topic="Sports/NBA"), ""),
        (["publish topic:Sports/#"], Event(topic="News"), "publish topic:News"),
        (["publish topic:Sports/#"], Event(), "publish *"),
        (["publish topic:Sports/#"], Event(topic="Sports/NBA", type="Book"), "publish type:Book"),
        (["publish topic:Sports/#"], Event(topic="Sports/NBA", channel=4), "publish channel:4"),
        (["publish type:Book"], Event(type="Book"), ""),
        (["publish type:Book"], Event(type="Book", ancestors=("Secret",)), "publish type:Secret"),
        (["publish type:Secret"], Event(type="Book", ancestors=("Secret",)), "publish type:Book"),
        (["publish type:Book", "publish type:Item"], Event(type="Book", ancestors=("Item",)), ""),
        (["publish *"], Event(type="Book", topic="x"), ""),
    ],
)
def test_all_that_an_event_is_addressed_by_is_granted(grants: list[str], event: Event, missing: str) -> None:
    """Type, ancestors, topic and channel: a subscription may ask for any of them."""
    assert denied(grants, "publish", event) == missing


def test_advertising_and_administering() -> None:
    """Types with their ancestors; operators by name of the action."""
    book = AgventType(name="Book", ancestors=("Item",))
    assert denied(["advertise type:Book"], "advertise", book) == "advertise type:Item"
    assert denied(["advertise type:Book", "advertise type:Item"], "advertise", book) == ""
    Grants(["administer *"], "ada").check_administer()
    with pytest.raises(DeniedError, match="'ada' has no grant `administer"):
        Grants(["publish *"], "ada").check_administer()


@pytest.mark.parametrize(
    "text", ["", "publish", "rule *", "publish book:x", "publish type:", "* *", "administer type:X"]
)
def test_what_is_no_grant_is_refused(text: str) -> None:
    """When it is made, not when it is used."""
    with pytest.raises(CallerError, match="is not a grant"):
        grant_of(text)
