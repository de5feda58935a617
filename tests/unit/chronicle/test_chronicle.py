"""A broker's records as rows of the event log."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from agvent.broker.records import (
    Accepted,
    Acknowledged,
    Arrived,
    CaughtUp,
    Closed,
    Curtailed,
    Ended,
    Heard,
    Moved,
    Noticed,
    Opened,
    Owned,
    Record,
)
from agvent.chronicle.chronicle import Chronicle
from agvent.chronicle.log_rows import LogRows
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.spark.matches.recorded_answers import RecordedAnswers
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, AgventType
from agvent.wire.broker_messages import Entry, Interest
from agvent.wire.client_messages import Source
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall, Entered, Publication

AT = 1_700_000_000_000_000
NOON = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
QUOTE = AgventType(name="Quote", attributes=(AdvertisedAttribute("price", "int"),))
EVENT = Event(type="Quote", attributes={"price": 7})
CHEAP = Subscription(id="ann/cheap", type="Quote", filter="price < 10", context={"floor": 2})


def publication(sequence: int, **options: Any) -> Publication:
    return Publication("nyse", sequence, encode_event(EVENT), **options)


def entered(*answers: Answered) -> Entered:
    return Entered("b1", 1, 1, answers)


def rows_of(*records: Record, broker: str = "b1", incarnation: int = 1) -> LogRows:
    chronicle = Chronicle(broker, incarnation)
    for record in records:
        chronicle.take(record, AT)
    return chronicle.drain()


ADVERTISED = Owned("b1", 1, 1, (Entry(1, "nyse", QUOTE, True),), False)
OPENED = Opened(1, "ann", Interest(3, CHEAP), 1)


def arrived(sequence: int, *, lost: str = "", after: int = 0, **options: Any) -> Arrived:
    deliveries = () if lost == "expired" else (("ann", (("ann/cheap", 3),)),)
    return Arrived(
        entered=entered(), publication=publication(sequence, **options), after=after, lost=lost, deliveries=deliveries
    )


def test_what_the_log_cannot_hold_is_left_out_and_counted() -> None:
    """A type that is no folder costs the log one event, not everything after it; a time beyond all times is never."""
    odd = [Event(type=""), Event(type="x" * 300), Event(attributes={"n": 2})]
    given = [Publication("eve", at, encode_event(event), expires=2**62) for at, event in enumerate(odd, 1)]
    rows = rows_of(*(Accepted(entered=entered(), publication=one, targets=(), at=AT) for one in given))
    assert [(one.event.attributes, one.expires_at) for one in rows.events] == [({"n": 2}, None)]
    assert [line.split(": ")[0] for line in rows.left_out] == ["eve:1", "eve:2"]


def test_a_document_is_found_in_the_log() -> None:
    """An event that gives a document to a librarian is also a row of `documents`, with its owner and realm."""
    menu = Event(type="agvent.Document", attributes={"document": "menu", "realm": "eu"}, xml="<menu/>")
    given = Publication("acme", 4, encode_event(menu))
    [row] = rows_of(Accepted(entered=entered(), publication=given, targets=(), at=AT)).documents
    assert row == {
        "document": "acme/menu",
        "version": 4,
        "owner": "acme",
        "broker": "b1",
        "realm": "eu",
        "xml": "<menu/>",
        "stored_at": NOON,
    }


def test_a_journal_becomes_a_log_that_reads_back(tmp_path: Path) -> None:
    """Type, subscription, event and delivery are in the log, with the version in force from its epoch on."""
    accepted = Accepted(
        entered=entered(),
        publication=publication(1, to="floor = 2", destinations=("ann",), expires=AT + 5),
        targets=(),
        at=AT,
    )
    made = rows_of(ADVERTISED, OPENED, accepted, arrived(1), Acknowledged("ann", 1, AT))
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        made.write(log)
    reader = LogReader(tmp_path / "log")
    [record] = reader.events("Quote")
    assert record.event == Event(type="Quote", attributes={"price": 7}, id=EventId("nyse", 1))
    assert (record.to, record.destinations, record.accepted_at) == ("floor = 2", ("ann",), NOON)
    assert record.schema == QUOTE.schema
    assert reader.in_force().to_pylist() == [
        {"entry_broker": "b1", "subscription": "ann/cheap", "version": 3, "from_epoch": 1, "to_epoch": None}
    ]
    [delivery] = reader.table("deliveries").to_pylist()
    assert {name: delivery[name] for name in ("publisher", "sequence", "subscription", "version", "position")} == {
        "publisher": "nyse",
        "sequence": 1,
        "subscription": "ann/cheap",
        "version": 3,
        "position": 1,
    }


def test_what_was_not_acknowledged_is_no_delivery() -> None:
    """A delivery is a row when its acknowledgement is on disk, in the order of the queue."""
    made = rows_of(OPENED, arrived(1), arrived(2), arrived(5), Acknowledged("ann", 2, AT))
    assert [(row["sequence"], row["position"]) for row in made.deliveries] == [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("records", "gap"),
    [
        ([arrived(4), Noticed("ann", 1, "quota")], ("ann/cheap", "nyse", 4, 4, "quota")),
        (
            [arrived(9, lost="retention", after=3), Acknowledged("ann", 1, AT)],
            ("ann/cheap", "nyse", 4, 9, "retention"),
        ),
        ([arrived(9, lost="expired", after=8)], (None, "nyse", 9, 9, "expired")),
        ([arrived(4, expires=AT), Acknowledged("ann", 1, AT)], ("ann/cheap", "nyse", 4, 4, "expired")),
        ([Closed(2, "ann/cheap", False, 2)], ("ann/cheap", None, None, None, "unsubscribed")),
    ],
)
def test_an_obligation_that_ended_is_a_gap(records: list[Record], gap: tuple[Any, ...]) -> None:
    """What a client was told it will not get, or no longer asked for, is declared with its reason."""
    made = rows_of(OPENED, *records)
    names = ("subscription", "publisher", "first_sequence", "last_sequence", "reason")
    assert [tuple(row[name] for name in names) for row in made.gaps] == [gap]
    assert made.deliveries == []


def test_what_was_let_go_on_a_move_is_one_gap_and_takes_one_number() -> None:
    """As at the home: what waited after it has the next number."""
    source = Source("b2", 1, "ann", 0)
    records = [arrived(1), arrived(2), arrived(3), Curtailed("ann", 2, "quota"), CaughtUp("ann")]
    made = rows_of(OPENED, Moved("ann", (source,)), *records, Acknowledged("ann", 2, AT))
    assert [(row["first_sequence"], row["last_sequence"], row["reason"]) for row in made.gaps] == [(1, 2, "quota")]
    assert [row["sequence"] for row in made.deliveries] == [3]


def test_what_was_withdrawn_is_the_type_as_it_was_advertised() -> None:
    """Its tombstone has only the name."""
    made = rows_of(ADVERTISED, Owned("b1", 1, 2, (Entry(2, "nyse", AgventType(name="Quote"), False),), False))
    assert [one.type for one in made.withdrawn] == [QUOTE]


@pytest.mark.parametrize("ended", [Closed(2, "ann/cheap", False, 2), Ended("ann/cheap")])
def test_what_an_ended_subscription_was_owed_is_no_delivery(ended: Record) -> None:
    """Later deliveries of that client are acknowledged under their own numbers, and say nothing of it."""
    other = Arrived(
        entered=entered(), publication=publication(2), after=0, lost="", deliveries=(("ann", (("ann/all", 4),)),)
    )
    rows = rows_of(OPENED, arrived(1), ended, other, Acknowledged("ann", 2, AT))
    assert [(row["sequence"], row["subscription"]) for row in rows.deliveries] == [(2, "ann/all")]
    assert [row["reason"] for row in rows.gaps] == ["unsubscribed"]


def test_a_replacement_is_a_close_and_an_open_and_no_gap() -> None:
    """A replaced version is still owed what entered before."""
    later = Opened(3, "ann", Interest(4, CHEAP), 3)
    made = rows_of(OPENED, Closed(2, "ann/cheap", True, 2), later)
    assert [(row["position"], row["change"], row["version"]) for row in made.changes] == [
        (1, "open", 3),
        (2, "close", 3),
        (3, "open", 4),
    ]
    assert [row["epoch"] for row in made.epochs] == [1, 2, 3]
    assert made.gaps == []


def test_a_broker_that_lost_its_disk_is_another_one_in_the_log() -> None:
    """Its positions begin anew, so its next incarnation has a name of its own, and what it was is declared lost."""
    heard = [
        Heard(home="b2", incarnation=n, number=1, position=4, considered=1, whole=True, roots=(), ended=(), epoch=n)
        for n in (1, 2)
    ]
    known = [Owned("b2", n, 1, (), False) for n in (1, 2)]
    made = rows_of(known[0], heard[0], known[1], heard[1])
    assert [(row["home_broker"], row["epoch"], row["position"]) for row in made.epochs] == [
        ("b2", 1, 4),
        ("b2~2", 2, 4),
    ]
    assert [(row["home_broker"], row["reason"]) for row in made.gaps] == [("b2", "lost_disk")]
    again = rows_of(OPENED, arrived(6), Acknowledged("ann", 1, AT), incarnation=2)
    assert again.changes[0]["home_broker"] == "b1~2"
    assert (
        again.deliveries[0]["position"]
        > rows_of(OPENED, arrived(5), Acknowledged("ann", 1, AT)).deliveries[0]["position"]
    )


def test_a_notice_of_nobodys_events_takes_its_number_and_no_row() -> None:
    """That an entry lost its disk is said of the whole broker; what was queued after the notice was delivered."""
    unknown = Arrived(
        entered=Entered("b2", 1, 0),
        publication=Publication("", 1, b""),
        after=0,
        lost="lost_disk",
        deliveries=(("ann", (("ann/cheap", 3),)),),
    )
    made = rows_of(Owned("b2", 1, 1, (), False), OPENED, unknown, Owned("b2", 2, 1, (), False), arrived(4))
    assert [(row["home_broker"], row["subscription"]) for row in made.gaps] == [("b2", None)]
    made = rows_of(OPENED, unknown, arrived(4), arrived(5), Acknowledged("ann", 2, AT))
    assert ([row["sequence"] for row in made.deliveries], made.gaps) == ([4], [])


def test_a_broker_that_left_for_good_is_declared() -> None:
    """What was owed to it is nobody's."""
    made = rows_of(Owned("b2", 1, 1, (), False), Owned("b2", 2, 1, (), True))
    assert [(row["home_broker"], row["reason"]) for row in made.gaps] == [("b2", "forgotten")]


def test_answers_are_logged_so_that_a_reader_finds_them(tmp_path: Path) -> None:
    """The calls of an event, null arguments and faults included, are looked up by name and arguments."""
    answers = (
        Answered(BehaviourCall("twice", (7,)), 14),
        Answered(BehaviourCall("named", (None, "O'Hare")), True),
        Answered(BehaviourCall("fails", ()), None, "too slow"),
        Answered(BehaviourCall("listed", ((1, 2),)), 3),
    )
    accepted = Accepted(entered=entered(*answers), publication=publication(1), targets=(), at=AT)
    made = rows_of(ADVERTISED, OPENED, accepted)
    assert [row["call"] for row in made.behaviours] == ["twice(7)", "named(\"null\", 'O''Hare')", "fails()"]
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        made.write(log)
    reader = LogReader(tmp_path / "log")
    behaviours_at, events_at = (reader.heads[stream].written_at for stream in ("behaviours", "events"))
    assert behaviours_at is not None
    assert events_at is not None
    assert behaviours_at < events_at
    [answer] = RecordedAnswers(reader).of(reader.event_table("Quote", QUOTE.schema)).values()
    assert [answer("twice", (7,)), answer("named", (None, "O'Hare")), answer("fails", ())] == [14, True, None]
