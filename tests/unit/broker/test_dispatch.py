"""The broker's dispatch: every kind of input, message, body and work has its method, and docs/broker.md has it."""

from __future__ import annotations

from typing import get_args

import pytest

from agvent.broker import pending
from agvent.broker.broker import Broker
from agvent.broker.events.stops import AskedRoute
from agvent.broker.interface import Input
from agvent.broker.outbox import Work
from agvent.broker.soundness import BODY_CHECKS, CHECKS
from agvent.wire.broker_messages import Body, Hello
from agvent.wire.client_messages import Attach
from tests.pages import DOCS, table_rows

BROKER = Broker("A", 1)

WORKS = {kind for kind in vars(pending).values() if isinstance(kind, type) and issubclass(kind, Work)} - {Work}


def named(kinds: set[type]) -> set[str]:
    return {kind.__name__ for kind in kinds}


def documented(heading: str, *, sender: str = "") -> set[str]:
    """The messages of a table of docs/broker.md, or those of one sender."""
    rows = table_rows((DOCS / "broker.md").read_text(), heading)
    return {row[0].strip("`") for row in rows if row[1].startswith(sender)}


@pytest.mark.parametrize(
    ("heading", "sender", "kinds"),
    [
        # Hello and Attach say who is on a link. Until they have come, no table applies.
        ("Between neighbours", "", {Hello, *BROKER.messages}),
        ("Routed to any broker", "", {*BROKER.bodies, *BROKER.passing}),
        ("Between a client and its home", "client", {Attach, *BROKER.clients.messages}),
    ],
)
def test_the_docs_have_every_message_that_a_broker_takes(heading: str, sender: str, kinds: set[type]) -> None:
    """A table of docs/broker.md and the broker's own have the same messages."""
    assert documented(heading, sender=sender) == named(kinds)


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        (BROKER.inputs, set(get_args(Input))),
        ({**BROKER.bodies, **BROKER.passing}, set(get_args(Body))),
        (BROKER.decisions, set(get_args(AskedRoute))),
        (BROKER.out.works, WORKS),
    ],
    ids=["inputs", "bodies", "decisions", "works"],
)
def test_every_kind_has_its_method(table: dict[type, object], kinds: set[type]) -> None:
    """A kind without a method, or a method for a kind that nobody makes, is a mistake."""
    assert named({*table}) == named(kinds)


def test_a_message_without_a_check_is_one_that_needs_none() -> None:
    """A Took is looked up among what is held here: of what is not, it changes nothing."""
    assert named({Hello, *BROKER.messages}) - named({*CHECKS}) == {"Took"}
    assert named({*CHECKS}) <= named({Hello, *BROKER.messages})


def test_a_body_without_a_check_is_one_that_needs_none() -> None:
    """They say how far something has come, or name what is looked up here; of what is not here, they change nothing."""
    unchecked = {"Applied", "Confirm", "Seek", "Answer", "Landed", "Halted", "Report", "Inquiry", "Astray"}
    assert named({*BROKER.bodies, *BROKER.passing}) - named({*BODY_CHECKS}) == unchecked
    assert named({*BODY_CHECKS}) <= named({*BROKER.bodies})


def test_what_is_foreseen_carries_an_event() -> None:
    """Of the messages exactly those are looked at before the step that bring an event to its entry or its home."""
    assert named({*BROKER.prefetch.messages}) == {"Publish", "Copies"}
