"""The broker's dispatch: every kind of input, message, body and work has its method, and docs/broker.md has it."""

from __future__ import annotations

from typing import get_args

import pytest

from agvent.broker import pending
from agvent.broker.broker import Broker
from agvent.broker.interface import Input
from agvent.broker.outbox import Work
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
        ("Routed to any broker", "", {*BROKER.bodies}),
        ("Between a client and its home", "client", {Attach, *BROKER.clients.messages}),
    ],
)
def test_the_docs_have_every_message_that_a_broker_takes(heading: str, sender: str, kinds: set[type]) -> None:
    """A table of docs/broker.md and the broker's own have the same messages."""
    assert documented(heading, sender=sender) == named(kinds)


@pytest.mark.parametrize(
    ("table", "kinds"),
    [(BROKER.inputs, set(get_args(Input))), (BROKER.bodies, set(get_args(Body))), (BROKER.out.works, WORKS)],
    ids=["inputs", "bodies", "works"],
)
def test_every_kind_has_its_method(table: dict[type, object], kinds: set[type]) -> None:
    """A kind without a method, or a method for a kind that nobody makes, is a mistake."""
    assert named({*table}) == named(kinds)
