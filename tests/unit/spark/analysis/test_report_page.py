"""The report as a page: well-formed, whole, and with nothing to fetch."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from lxml import etree

from agvent.spark.analysis.report_page import binned, report
from agvent.spark.audits.audit import AuditVerdict, DeliveryTally

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PERCENTILES = {"p50_ms": 1.5, "p90_ms": 2.0, "p99_ms": None}

ROWS: dict[str, list[dict[str, Any]]] = {
    "minutes": [
        {"minute": NOON, "events": 3, "deliveries": 4},
        {"minute": NOON + timedelta(hours=1), "events": 1, "deliveries": 0},
    ],
    "types": [
        {"type": "Quote", "events": 3, "deliveries": 4, **PERCENTILES},
        {"type": None, "events": 1, "deliveries": 0},
    ],
    "brokers": [{"broker": "<b&1>", "events": 4, "deliveries": 4}],
    "subscribers": [{"subscriber": f"c{n}", "deliveries": 30 - n} for n in range(30)],
    "latency": [{"quality": "durable", "deliveries": 4, **PERCENTILES}],
    "hops": [{"hops": 1, "copies": 4}],
    "links": [{"from_broker": "b1", "to_broker": "b2", "copies": 4, "bytes": 1000}],
    "subscriptions": [
        {
            "subscription": "s1",
            "filter": "price < 3 AND a = '\"'",
            "exposed": 4,
            "matches": 4,
            "selectivity": 1.0,
            "state": "hot",
        },
        {"subscription": "s2", "filter": "price > 3", "exposed": 4, "matches": 0, "selectivity": 0.0, "state": "dead"},
    ],
    "groups": [{"home_broker": "b1", "subscriptions": ["s1@1", "s3@1"], "saved_index_rows": 1, "saved_deliveries": 2}],
    "moves": [{"subscription": "s1", "from_broker": "b1", "to_broker": "b2", "moved_at": NOON, "lost": 0}],
}
SECTIONS = [
    "traffic",
    "types",
    "brokers",
    "subscribers",
    "latency",
    "hops",
    "links",
    "subscriptions",
    "duplicates",
    "moves",
]


def tables(rows: dict[str, list[dict[str, Any]]]) -> dict[str, pa.Table]:
    return {name: pa.Table.from_pylist(given) for name, given in rows.items()}


def page(verdict: AuditVerdict | None = None, rows: dict[str, list[dict[str, Any]]] = ROWS) -> Any:
    return etree.fromstring(report("day & <night>", tables(rows), verdict).encode())


def verdict(**counts: int) -> AuditVerdict:
    late_after = timedelta(seconds=60)
    return AuditVerdict(
        durable=DeliveryTally(**counts), fast=DeliveryTally(), events=4, left_out=0, late_after=late_after
    )


def test_the_page_is_well_formed_and_has_every_section() -> None:
    """Names from the log are escaped, and the sections come in their order, each with its place in the contents."""
    found = page()
    assert found.findtext(".//h1/code") == "day & <night>"
    assert [section.get("id") for section in found.iter("section")] == SECTIONS
    assert [link.get("href") for link in found.iter("a")] == [f"#{name}" for name in SECTIONS]


def test_nothing_is_fetched() -> None:
    """No address, no script, no import: the page is read as it is."""
    text = report("day", tables(ROWS), verdict(expected=4))
    assert re.findall(r"https?:|//[a-z]|<script|<link|@import|url\(", text) == []


def test_every_chart_says_what_it_shows_and_has_its_numbers_below() -> None:
    """A chart has a title, a description and a caption, and a table follows it."""
    for figure in page().iter("figure"):
        [chart] = figure.iter("svg")
        assert chart.get("role") == "img"
        assert all([chart.findtext("title"), chart.findtext("desc"), figure.findtext("figcaption")])
        assert figure.getparent().find(".//table") is not None


@pytest.mark.parametrize(
    ("found", "kind", "said"),
    [
        (None, "verdict none", "No deliveries are recorded in this log, so there is nothing to audit."),
        (verdict(expected=4, delivered=4), "verdict fine", "✓ The promise was kept for 4 deliveries of 4 events."),
        (verdict(lost=1, out_of_order=2), "verdict broken", "✗ The promise was broken: 1 lost, 2 out of order."),
    ],
)
def test_the_report_opens_with_the_verdict(found: AuditVerdict | None, kind: str, said: str) -> None:
    """The first thing below the title is what the audit found."""
    first = page(found).find(".//h1").getnext()
    assert (first.get("class"), first.text) == (kind, said)


def test_long_tables_are_cut_and_say_so() -> None:
    """Of thirty subscribers the first twelve are shown, and that there are eighteen more."""
    section = page().find(".//section[@id='subscribers']")
    assert len(section.findall(".//tbody/tr")) == 12
    assert section.findtext("p[@class='note']") == "and 18 more"


def test_a_log_with_nothing_in_it_has_a_page() -> None:
    """Each section of an empty log says that there is nothing, instead of a chart of nothing."""
    found = page(rows={name: [] for name in ROWS})
    assert [section.get("id") for section in found.iter("section")] == SECTIONS
    assert list(found.iter("svg")) == []


def test_minutes_without_events_are_drawn_as_none() -> None:
    """Minutes that have no row count as zero, and a day has at most 144 bins."""
    times, series, width = binned(tables(ROWS)["minutes"])
    assert (len(times), width, times[0]) == (61, 1, NOON)
    assert series["events"] == [3.0, *[0.0] * 59, 1.0]
    days = [{"minute": NOON + timedelta(minutes=m), "events": 1, "deliveries": 2} for m in range(2000)]
    times, series, width = binned(pa.Table.from_pylist(days))
    assert (len(times), width, sum(series["events"]), sum(series["deliveries"])) == (143, 14, 2000, 4000)
