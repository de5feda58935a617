"""The made-up day: what the log says was delivered is what was due, and a planted defect is that and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agvent.errors import CallerError
from agvent.filters.evaluate import evaluate
from agvent.sample_day.day_plan import DEFECTS, DayPlan
from agvent.sample_day.generate import DayReport, generate
from agvent.sample_day.network import network
from agvent.store.catalogue import subscription_in
from agvent.store.log_reader import LogReader
from agvent.store.log_schema import TABLES
from agvent.store.log_verification import verify

Key = tuple[str, int, str, str]
"""An event and a subscription: publisher, sequence, quality, subscription."""

LATE = timedelta(minutes=1)


def made(folder: Path, **changes: Any) -> tuple[LogReader, DayReport]:
    plan = DayPlan(**{"events": 600, "subscriptions": 60, "brokers": 4, "seed": 7, "xml": True, **changes})
    report = generate(folder, plan)
    return LogReader(folder), report


def expected(log: LogReader) -> dict[Key, list[tuple[datetime, int]]]:
    """By the oracle: for each event and subscription that is due, when it was accepted, and the version, per entry."""
    versions = {(row["subscription"], row["version"]): row for row in log.table("subscriptions").to_pylist()}
    conditions = {key: subscription_in(row).condition() for key, row in versions.items()}
    found: dict[Key, list[tuple[datetime, int]]] = {}
    intervals = log.in_force().to_pylist()
    for record in log.events():
        for row in intervals:
            if row["entry_broker"] != record.entry_broker or row["from_epoch"] > record.epoch:
                continue
            key = (row["subscription"], row["version"])
            still = row["to_epoch"] is None or record.epoch < row["to_epoch"]
            if still and evaluate(conditions[key], record.event) is True:
                assert record.event.id is not None
                pair = (*record.event.id, record.quality, row["subscription"])
                found.setdefault(pair, []).append((record.accepted_at, row["version"]))
    return found


def named(row: dict[str, Any]) -> Key:
    return row["publisher"], row["sequence"], row["quality"], row["subscription"]


def declared(log: LogReader) -> set[Key]:
    rows = log.table("gaps").to_pylist()
    return {(row["publisher"], row["first_sequence"], row["quality"], row["subscription"]) for row in rows}


def retried(log: LogReader) -> set[tuple[str, int, str]]:
    count = Counter((*record.event.id, record.quality) for record in log.events() if record.event.id)
    return {key for key, times in count.items() if times > 1}


def out_of_order(rows: list[dict[str, Any]]) -> Iterator[Key]:
    """Deliveries after that of a later event of the same publisher, or of the same event again."""
    latest: dict[tuple[str, str, str], int] = {}
    for row in sorted(rows, key=lambda row: row["position"]):
        key = (row["subscription"], row["publisher"], row["quality"])
        if row["sequence"] < latest.get(key, 0):
            yield named(row)
        latest[key] = max(latest.get(key, 0), row["sequence"])


def defects(log: LogReader) -> dict[str, set[Key]]:
    """A small audit: what differs from what is due."""
    due, again = expected(log), retried(log)
    rows = log.table("deliveries").to_pylist()
    times = Counter(named(row) for row in rows)
    must = {key for key in due if key[:3] not in again} - declared(log)
    late = {named(row) for row in rows for at, _ in due.get(named(row), [])[:1] if row["delivered_at"] - at > LATE}
    return {
        "lost": must - times.keys(),
        "duplicated": {key for key, count in times.items() if count > 1},
        "unexpected": times.keys() - due.keys(),
        "out_of_order": set(out_of_order(rows)),
        "late": late,
    }


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_is_planted_and_no_other(tmp_path: Path, defect: str) -> None:
    """Against the oracle: the deliveries differ from what is due in the planted ones alone; the log is whole."""
    log, report = made(tmp_path / "log", defect=defect, events=3_000 if defect == "out_of_order" else 600)
    planted = {named(row) for row in report.planted}
    assert defects(log) == {name: planted if name == defect else set() for name in DEFECTS[1:]}
    assert bool(planted) == (defect != "none")
    assert verify(tmp_path / "log").findings == []


def test_a_day_has_what_real_days_have(tmp_path: Path) -> None:
    """Several types, untyped and fast events, versions that come and go, retries at another entry, declared losses."""
    log, report = made(tmp_path / "log")
    assert {name for name, _ in log.event_types()} == {None, "Quote", "Trade", "Shipment", "Menu"}
    assert {record.quality for record in log.events()} == {"durable", "fast"}
    assert len(retried(log)) == 5
    assert Counter(key[2] for key in declared(log)) == {"durable": 3, "fast": 1}
    changes = Counter(row["change"] for row in log.table("changes").to_pylist())
    assert changes["open"] > 60
    assert changes["close"] > 0
    assert report.expected == report.deliveries + 4
    assert report.deliveries == log.table("deliveries").num_rows > 50
    assert log.offset()["sub"] == log.heads["catalogue"].number > 1


def test_a_day_too_small_for_its_defect_is_refused(tmp_path: Path) -> None:
    """One event is never out of order; nothing is written."""
    with pytest.raises(CallerError, match="the day has no delivery for the defect 'out_of_order' in"):
        made(tmp_path / "log", events=1, defect="out_of_order")
    assert not (tmp_path / "log").exists()


def test_hops_lead_from_entry_to_home(tmp_path: Path) -> None:
    """Each copy's hops are the way between its brokers, one after the other, and end before the delivery."""
    plan = DayPlan(events=300, subscriptions=40, brokers=5, seed=3)
    generate(tmp_path / "log", plan)
    log, net = LogReader(tmp_path / "log"), network(plan)
    ways: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in log.table("traces").sort_by("hop").to_pylist():
        ways.setdefault((row["publisher"], row["sequence"], row["quality"], row["destination"]), []).append(row)
    seen = 0
    for row in log.table("deliveries").to_pylist():
        hops = ways.get((row["publisher"], row["sequence"], row["quality"], row["home_broker"]), [])
        brokers = [row["entry_broker"], *(hop["to_broker"] for hop in hops)]
        start, end = (net.names.index(row[name]) for name in ("entry_broker", "home_broker"))
        assert brokers == [net.names[broker] for broker in net.paths[start][end]]
        times = [time for hop in hops for time in (hop["sent_at"], hop["received_at"])] + [row["delivered_at"]]
        assert times == sorted(times)
        seen += len(hops)
    assert seen > 0


def test_equal_plans_give_equal_rows(tmp_path: Path) -> None:
    """Every table of two logs of one plan is the same, and another seed gives another."""
    logs = [made(tmp_path / name, seed=seed)[0] for name, seed in (("a", 7), ("b", 7), ("c", 8))]
    tables = [{name: log.table(name) for name in TABLES if name != "events"} for log in logs]
    assert tables[0] == tables[1] != tables[2]
    events = [list(log.events()) for log in logs]
    assert events[0] == events[1] != events[2]


@pytest.mark.parametrize(
    ("events", "brokers", "subscriptions"), [(1, 1, 1), (5, 2, 3), (250, 1, 50)], ids=["one", "few", "one broker"]
)
def test_small_days(tmp_path: Path, events: int, brokers: int, subscriptions: int) -> None:
    """A day may be as small as one event."""
    log, report = made(tmp_path / "log", events=events, brokers=brokers, subscriptions=subscriptions)
    assert len({(*record.event.id, record.quality) for record in log.events() if record.event.id}) == events
    assert {name: found for name, found in defects(log).items() if found} == {}
    assert report.events == events


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"events": 0}, "events is 0, it must be 1 or more"),
        ({"brokers": 257}, "brokers is 257, it must be 1 to 256"),
        ({"seed": -1}, "seed is -1, it must be 0 or more"),
        ({"defect": "odd"}, "there is no defect 'odd'"),
    ],
)
def test_what_cannot_be_a_day(wrong: dict[str, Any], message: str) -> None:
    """Numbers out of range and unknown defects are refused before anything is written."""
    with pytest.raises(CallerError) as caught:
        DayPlan(**{"events": 10, **wrong})
    assert caught.value.message == message
