"""The audit on real logs: it finds exactly the defects that are there, and says which and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from agvent.errors import LogFileError
from agvent.filters.subscription import Subscription
from agvent.sample_day.day_plan import DEFECTS, DayPlan
from agvent.sample_day.generate import generate
from agvent.spark.audits.audit import DeliveryTally, audit
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.store.retention import retain
from tests.stories import Story, after, interpreted

CHEAP = Subscription(id="cheap", type="Quote", filter="price < 10")
IBM = Subscription(id="ibm", filter="symbol = 'IBM'")
LATER = Subscription(id="later", filter="symbol = 'IBM'")

Found = list[tuple[Any, ...]]


def found(spark: SparkSession, log: Path, *columns: str, **options: Any) -> tuple[Any, Found]:
    """The verdict, and the defects as rows of these columns; where none is counted, none is looked for."""
    result = audit(spark, log, **options)
    tallies = (result.verdict.durable, result.verdict.fast)
    counted = sum(getattr(tally, name) for tally in tallies for name in DEFECTS[1:])
    rows = result.defects.collect() if counted else []
    return result.verdict, sorted(tuple(row[name] for name in columns) for row in rows)


@pytest.fixture(scope="module")
def quick(spark: SparkSession) -> Iterator[SparkSession]:
    with interpreted(spark) as session:
        yield session


EVENT_AND_WHOM = ("defect", "publisher", "sequence", "quality", "subscription", "version")


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_planted_defect_is_found_and_no_other(quick: SparkSession, tmp_path: Path, defect: str) -> None:
    """Of a generated day, with retries, fast events and declared losses, exactly what was planted is a defect."""
    events = 1_500 if defect == "out_of_order" else 400  # deliveries must come close to change places
    made = generate(tmp_path / "day", DayPlan(events=events, subscriptions=60, defect=defect, seed=3))
    verdict, defects = found(quick, tmp_path / "day", *EVENT_AND_WHOM)
    assert defects == sorted((defect, *(row[name] for name in EVENT_AND_WHOM[1:])) for row in made.planted)
    counts = {name: getattr(verdict.durable, name) for name in DEFECTS[1:]}
    assert counts == dict.fromkeys(DEFECTS[1:], 0) | ({} if defect == "none" else {defect: len(made.planted)})
    assert verdict.durable.expected + verdict.fast.expected == made.expected
    assert verdict.durable.delivered + verdict.fast.delivered == made.deliveries
    assert verdict.is_fine == (defect in ("none", "late"))


@pytest.fixture(scope="module")
def eventful(quick: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Found]]:
    """One log in which each publisher lives through something else; its verdict, and its defects by publisher."""
    story = Story(tmp_path_factory.mktemp("logs") / "eventful", CHEAP, IBM, LATER)
    for tell in (_defects, _retries, _fast, _gaps):
        tell(story)
    verdict, rows = found(quick, story.write(), "publisher", "defect", "sequence", "subscription", "why")
    by_publisher: dict[str, Found] = {}
    for publisher, *rest in rows:
        by_publisher.setdefault(publisher, []).append(tuple(rest))
    return verdict, by_publisher


def _defects(story: Story) -> None:
    for sequence in (1, 2, 3):
        story.event("loses", sequence, epoch=1, price=5.0)
    story.delivery("loses", 1, "cheap")
    story.delivery("loses", 3, "cheap")
    story.event("repeats", 1, epoch=1, price=5.0)
    for at in (1, 2):
        story.delivery("repeats", 1, "cheap", at=at)
    story.event("surprises", 1, epoch=1, price=50.0, symbol="IBM")
    story.delivery("surprises", 1, "cheap")
    story.delivery("surprises", 1, "ibm")
    story.delivery("surprises", 2, "cheap")
    story.delivery("surprises", 1, "ibm", version=7)
    for sequence in (1, 2):
        story.event("disorders", sequence, epoch=1, price=5.0, at=sequence)
    story.delivery("disorders", 2, "cheap", at=3)
    story.delivery("disorders", 1, "cheap", at=300)
    story.event("delays", 1, epoch=1, price=5.0)
    story.delivery("delays", 1, "cheap", at=60.5)


def test_each_defect_is_named_with_its_reason(eventful: tuple[Any, dict[str, Found]]) -> None:
    """Several defects in one log do not hide each other, and each says why it is one."""
    _, defects = eventful
    assert defects["loses"] == [("lost", 2, "cheap", "in force at b1, epoch 1, and neither delivered nor declared")]
    assert [row[:3] for row in defects["repeats"]] == [("duplicated", 1, "cheap")]
    assert defects["surprises"] == [
        ("unexpected", 1, "cheap", "it does not match the subscription"),
        ("unexpected", 1, "ibm", "the log has no version 7 of this subscription"),
        ("unexpected", 1, "ibm", "version 1 was not in force at b1, epoch 1"),
        ("unexpected", 2, "cheap", "the log has no such event"),
    ]
    assert defects["disorders"] == [("out_of_order", 1, "cheap", "came after sequence 2 of its publisher")]
    assert defects["delays"] == [("late", 1, "cheap", "60.500 s after it was accepted, the limit is 60 s")]


def _retries(story: Story) -> None:
    """Accepted at b1 in epoch 2 (ibm) and at b2 in epoch 3 (ibm and later)."""
    for publisher in ("retries first", "retries second", "retries neither", "retries both"):
        story.event(publisher, 1, epoch=2, price=50.0, symbol="IBM")
        story.event(publisher, 1, epoch=3, entry="b2", at=2, price=50.0, symbol="IBM")
    story.delivery("retries first", 1, "ibm", epoch=2)
    story.delivery("retries second", 1, "ibm", epoch=3, entry_broker="b2", at=3)
    story.delivery("retries second", 1, "later", epoch=3, entry_broker="b2", at=3)
    story.delivery("retries both", 1, "ibm", epoch=2)
    story.delivery("retries both", 1, "ibm", epoch=3, entry_broker="b2", at=3)


def test_a_retry_at_another_entry_may_have_either_set(eventful: tuple[Any, dict[str, Found]]) -> None:
    """The deliveries of either copy are right; neither is a loss of the smaller set, and both are a duplicate."""
    _, defects = eventful
    assert "retries first" not in defects
    assert "retries second" not in defects
    assert [row[:3] for row in defects["retries neither"]] == [("lost", 1, "ibm")]
    assert [row[:3] for row in defects["retries both"]] == [("duplicated", 1, "ibm")]


def _fast(story: Story) -> None:
    for sequence in (1, 2, 3):
        story.event("hurries", sequence, epoch=1, quality="fast", price=5.0)
    story.event("hurries", 1, epoch=1, price=5.0)
    story.delivery("hurries", 3, "cheap", quality="fast")
    story.delivery("hurries", 1, "cheap", quality="fast")
    story.delivery("hurries", 1, "cheap")


def test_fast_events_are_counted_apart(eventful: tuple[Any, dict[str, Found]]) -> None:
    """A lost fast event is in the fast tally, and its order is not judged. Its number is not a durable event's."""
    verdict, defects = eventful
    assert [row[:3] for row in defects["hurries"]] == [("lost", 2, "cheap")]
    assert verdict.fast == DeliveryTally(expected=4, delivered=2, lost=1, declared=1)


def _gaps(story: Story) -> None:
    for sequence in (1, 2, 3, 4, 5, 9):
        story.event("declares", sequence, epoch=1, price=5.0)
    story.gap("retention", subscription="cheap", publisher="declares", first_sequence=1, last_sequence=2)
    story.gap("quota", publisher="declares", first_sequence=4, last_sequence=4)
    story.gap("forgotten", subscription="cheap", publisher="declares", first_sequence=9)
    story.gap("expired", subscription="ibm", publisher="declares", first_sequence=5, last_sequence=5)
    story.gap("expired", home_broker="h2", publisher="declares", first_sequence=3, last_sequence=3)
    story.event("crashes", 50, epoch=1, quality="fast", price=5.0)
    story.gap("crash", quality="fast", first_sequence=50)
    story.gap("crash", quality="fast", subscription="cheap", publisher="hurries", first_sequence=7)


def test_what_a_gap_declares_is_not_lost(eventful: tuple[Any, dict[str, Found]]) -> None:
    """A gap covers its home broker, subscription, publisher, quality and sequences as far as it names them."""
    verdict, defects = eventful
    assert [row[:3] for row in defects["declares"]] == [("lost", 3, "cheap"), ("lost", 5, "cheap")]
    assert verdict.durable.declared == 4


def test_the_tallies_add_up(eventful: tuple[Any, dict[str, Found]]) -> None:
    """What was expected and neither lost nor declared is what was delivered once and rightly."""
    verdict, _ = eventful
    for tally in (verdict.durable, verdict.fast):
        assert tally.expected - tally.lost - tally.declared == tally.delivered - tally.duplicated - tally.unexpected
    assert list(verdict.as_json())[:7] == [
        "expected", "delivered", "lost", "duplicated", "unexpected", "out_of_order", "late",
    ]  # fmt: skip


def test_the_limit_of_late_is_the_callers(quick: SparkSession, tmp_path: Path) -> None:
    """A delivery is late from the first microsecond after the limit, and late alone is no violation."""
    story = Story(tmp_path / "log", CHEAP)
    story.event("p", 1, epoch=1, price=5.0)
    story.event("p", 2, epoch=1, price=5.0)
    story.delivery("p", 1, "cheap", at=5)
    story.delivery("p", 2, "cheap", at=5.000001)
    verdict, rows = found(quick, story.write(), "defect", "sequence", late_after=timedelta(seconds=5))
    assert rows == [("late", 2)]
    assert verdict.is_fine


def test_what_retention_can_have_taken_is_left_out(quick: SparkSession, tmp_path: Path) -> None:
    """Events accepted up to the end of a dropped segment, and their deliveries, are not judged; later ones are."""
    story = Story(tmp_path / "log", CHEAP)
    for minute, sequences in ((0, (1, 2)), (10, (3, 4))):
        for sequence in sequences:
            story.event("p", sequence, epoch=1, price=5.0, at=60 * minute)
        story.delivery("p", sequences[0], "cheap", at=60 * minute + 1)
        story.write()
    with LogWriter(story.path) as log:
        assert len(retain(log, "events", before=after(300))) == 1
    verdict, rows = found(quick, story.path, "defect", "sequence")
    assert rows == [("lost", 4)]
    assert (verdict.durable.expected, verdict.durable.delivered) == (2, 1)


def test_deliveries_that_retention_took_are_not_lost(quick: SparkSession, tmp_path: Path) -> None:
    """An event whose delivery's segment was dropped is left out and counted."""
    story = Story(tmp_path / "log", CHEAP)
    for minute, sequence in ((0, 1), (10, 2)):
        story.event("p", sequence, epoch=1, price=5.0, at=60 * minute)
        story.delivery("p", sequence, "cheap", at=60 * minute + 1)
        story.write()
    with LogWriter(story.path) as log:
        retain(log, "deliveries", before=after(300))
    verdict, rows = found(quick, story.path, "defect")
    assert rows == []
    assert (verdict.left_out, verdict.durable) == (1, DeliveryTally(expected=1, delivered=1))


def test_events_after_until_are_left_out(quick: SparkSession, tmp_path: Path) -> None:
    """Of a log that is still written, what was accepted last may be on its way."""
    story = Story(tmp_path / "log", CHEAP)
    story.event("p", 1, epoch=1, price=5.0)
    story.event("p", 2, epoch=1, price=5.0, at=9)
    story.delivery("p", 1, "cheap")
    verdict, rows = found(quick, story.write(), "defect", until=after(8))
    assert rows == []
    assert (verdict.left_out, verdict.durable) == (1, DeliveryTally(expected=1, delivered=1))


def test_recorded_answers_decide_filters_with_behaviours(quick: SparkSession, tmp_path: Path) -> None:
    """A call is true or false as the log says, unknown with a fault or without a row."""
    story = Story(tmp_path / "log", Subscription(id="calls", filter="symbol = 'IBM' AND cited('Ada', 2) > 3"))
    answers: Iterable[tuple[int, str | None, str | None]] = [(1, "5", None), (2, "3", None), (3, None, "timed out")]
    for sequence in (1, 2, 3, 4):
        story.event("p", sequence, epoch=1, symbol="IBM")
    for sequence, result, fault in answers:
        story.answer("p", sequence, "cited('Ada',2)", result=result, fault=fault)
    verdict, rows = found(quick, story.write(), "defect", "sequence")
    assert rows == [("lost", 1)]
    assert verdict.durable.expected == 1


def test_conditions_on_opaque_attributes_are_looked_up_whole(quick: SparkSession, tmp_path: Path) -> None:
    """The log has the truth of a condition, never the value; a condition that was not asked is unknown."""
    story = Story(
        tmp_path / "log",
        Subscription(id="high", filter="symbol = 'IBM' AND margin() > 0.3"),
        Subscription(id="low", filter="symbol = 'IBM' AND margin() < 0.1"),
    )
    for sequence, result in ((1, "true"), (2, "false"), (3, None)):
        story.event("p", sequence, epoch=1, symbol="IBM")
        story.answer("p", sequence, "holds('margin() > 0.3')", result=result, fault=None if result else "KeyError")
    verdict, rows = found(quick, story.write(), "defect", "sequence", "subscription")
    assert rows == [("lost", 1, "high")]
    assert verdict.durable.expected == 1


def test_a_log_without_events_is_fine(quick: SparkSession, tmp_path: Path) -> None:
    """There is nothing to break a promise about."""
    create_log(tmp_path / "log")
    verdict, rows = found(quick, tmp_path / "log", "defect")
    assert (verdict.events, verdict.durable, rows, verdict.is_fine) == (0, DeliveryTally(), [], True)


def test_a_log_without_deliveries_lost_everything(quick: SparkSession, tmp_path: Path) -> None:
    """What is due and not recorded is lost, however much it is."""
    story = Story(tmp_path / "log", CHEAP)
    story.event("p", 1, epoch=1, price=5.0)
    verdict, rows = found(quick, story.write(), "defect", "sequence")
    assert (verdict.durable, rows) == (DeliveryTally(expected=1, lost=1), [("lost", 1)])


@pytest.mark.parametrize("damage", ["missing", "torn"])
def test_a_broken_log_is_refused(quick: SparkSession, tmp_path: Path, damage: str) -> None:
    """A segment that is not as its head says is named before anything is computed."""
    story = Story(tmp_path / "log", CHEAP)
    story.event("p", 1, epoch=1, price=5.0)
    segment = story.write() / LogReader(story.path).segments("events")[0].path
    if damage == "missing":
        segment.unlink()
    else:
        segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(LogFileError, match=segment.name):
        audit(quick, story.path)
