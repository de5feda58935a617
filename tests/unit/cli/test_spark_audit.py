"""How `agvent spark audit` says what it found, without Spark."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from agvent.cli.main import main
from agvent.cli.spark_audit import moment, notes, sentence, show
from agvent.spark.audits.audit import AuditVerdict, DeliveryTally


def verdict(
    *, durable: DeliveryTally, fast: DeliveryTally | None = None, events: int = 50, left_out: int = 0
) -> AuditVerdict:
    late_after = timedelta(seconds=60)
    return AuditVerdict(
        durable=durable, fast=fast or DeliveryTally(), events=events, left_out=left_out, late_after=late_after
    )


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            verdict(durable=DeliveryTally(expected=1200)),
            "✓ day: the promise was kept for 1,200 deliveries of 50 events",
        ),
        (verdict(durable=DeliveryTally(), events=0), "✓ day: the log has no events"),
        (verdict(durable=DeliveryTally(late=3)), "✓ day: the promise was kept for 0 deliveries of 50 events"),
        (
            verdict(durable=DeliveryTally(lost=1, out_of_order=2)),
            "✗ day: the promise was broken: 1 lost, 2 out of order",
        ),
        (
            verdict(durable=DeliveryTally(), fast=DeliveryTally(lost=4)),
            "✓ day: the promise was kept for 0 deliveries of 50 events",
        ),
        (
            verdict(durable=DeliveryTally(), fast=DeliveryTally(duplicated=1, unexpected=2)),
            "✗ day: the promise was broken: 1 fast duplicated, 2 fast unexpected",
        ),
    ],
)
def test_the_verdict_is_one_line(found: AuditVerdict, said: str) -> None:
    """A broken promise names each way in which it was; late and lost fast events break none."""
    assert sentence("day", found) == said


def test_notes_say_what_the_counts_do_not() -> None:
    """Nothing recorded, declared losses, lost fast events, late ones and those left out have a sentence each."""
    found = verdict(
        durable=DeliveryTally(expected=9, lost=8, declared=1, late=2), fast=DeliveryTally(lost=3), left_out=7
    )
    assert notes(found) == [
        "The log records no deliveries. Was it written by brokers or by dispatch?",
        "declared losses: 1, named in the log's gaps.",
        "lost fast events: 3, which the promise allows.",
        "warning: 2 deliveries took longer than 60 s.",
        "events left out: 7, because retention dropped a part of them or --until is earlier.",
    ]


def test_the_first_defects_are_shown_with_their_reasons() -> None:
    """A row has the event, whom it was for, what happened and why; the last line says where the rest is."""
    row: dict[str, Any] = {"defect": "out_of_order", "publisher": "feed:1", "sequence": 7, "quality": "fast"}
    row |= {"subscription": "s1", "version": 2, "subscriber": "ann", "why": "came after sequence 8 of its publisher"}
    out = StringIO()
    found = verdict(durable=DeliveryTally(expected=5, delivered=5, out_of_order=2))
    log = "/a/long/path" * 12
    show(Console(file=out, width=120), log, found, [row], out=None)
    lines = out.getvalue().splitlines()
    assert lines[0] == f"✗ {log}: the promise was broken: 2 out of order"
    assert lines[2].split() == ["durable", "5", "5", "0", "0", "0", "2", "0", "0"]
    assert re.split("  +", lines[-2]) == [
        "out of order", "feed:1:7 (fast)", "s1@2 of ann", "came after sequence 8 of its publisher",
    ]  # fmt: skip
    assert lines[-1] == "1 of 2 defects; --out DIR writes all of them"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--late-after", "soon"], "'soon' is not a number of seconds"),
        (["--late-after", "-1"], "'-1' is not a number of seconds"),
        (["--until", "noon"], "'noon' is not a time such as 2026-03-01T12:00:00Z"),
        (["--until", "2026-03-01T12:00:00"], "does not say its time zone"),
    ],
)
def test_a_bad_option_is_refused(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong number or time is a mistake of the arguments, said before Spark starts."""
    with pytest.raises(SystemExit) as exit:
        main(["spark", "audit", "day", *arguments])
    assert exit.value.code == 2
    assert said in capsys.readouterr().err


def test_a_folder_that_is_no_log_is_refused(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What is no log is said so before Spark starts, with the exit code of the environment."""
    assert main(["spark", "audit", str(tmp_path)]) == 3
    assert capsys.readouterr().err == f"error: {tmp_path} is not an event log: it has no log.json\n"


def test_a_json_verdict_begins_with_the_seven_counts() -> None:
    """A machine finds the durable counts at the top, and everything else after them."""
    found = verdict(durable=DeliveryTally(expected=1, delivered=1), fast=DeliveryTally(lost=2), left_out=3)
    assert list(found.as_json().items()) == [
        ("expected", 1), ("delivered", 1), ("lost", 0), ("duplicated", 0), ("unexpected", 0), ("out_of_order", 0),
        ("late", 0), ("declared", 0), ("verdict", "fine"), ("violations", 0), ("events", 50), ("left_out", 3),
        ("late_after_seconds", 60.0), ("fast", found.as_json()["fast"]),
    ]  # fmt: skip
    assert found.as_json()["fast"]["lost"] == 2


def test_times_are_those_of_a_zone() -> None:
    """`--until` keeps the zone it was given in."""
    assert moment("2026-03-01T12:00:00Z") == datetime(2026, 3, 1, 12, tzinfo=UTC)
