"""Rows of a log put to the matcher."""

from __future__ import annotations

from pathlib import Path

from agvent import Event, EventId, Subscription, Subscriptions
from agvent.store.event_batches import match_rows
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.types import unadvertised
from tests.logs import NOON

WIDE = f"<r>{'<a/>' * 2_000}</r>"


def test_questions_that_were_not_answered_have_their_rows(tmp_path: Path) -> None:
    """Whether a row goes to the matcher as columns or as an event, its question is not passed over in silence."""
    attributes = [{}, {}, {"price": 5}, {}, {"price": 5}]  # an attribute without a column makes an event of its row
    documents = ["<r><a/></r>", WIDE, WIDE, WIDE, "<r/>"]
    events = [
        Event(attributes=found, xml=xml, id=EventId("p", at))
        for at, (found, xml) in enumerate(zip(attributes, documents, strict=True))
    ]
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        log.append_events(LoggedEvent(event=one, accepted_at=NOON, entry_broker="b1", epoch=0) for one in events)
    [(name, schema)] = LogReader(tmp_path / "log").event_types()
    table = LogReader(tmp_path / "log").event_table(name, schema)
    index = Subscriptions([Subscription(id="bomb", language="xpath", filter="//a[//a[//a]]")])
    found = list(match_rows(index, table, unadvertised(None), None))
    assert [row for part in found for row in part.rows.to_pylist()] == [0]
    asked = [(one.event, one.subscription) for part in found for one in part.unanswered]
    assert sorted(asked) == [(1, "bomb"), (2, "bomb"), (3, "bomb")]
