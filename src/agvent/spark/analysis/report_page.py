"""The report of an analysis: one HTML page, charts and tables, with nothing to fetch and no script.

It is well-formed XML too, so that a test or a program can read it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from agvent.spark.analysis.charts import Bar, bars, lines, number
from agvent.spark.analysis.report_style import STYLE
from agvent.spark.audits.audit import DEFECTS, AuditVerdict, DeliveryTally

ROWS_SHOWN: Final = 12
BINS_MAX: Final = 144
"""Points of a line over time: ten minutes each for a day, five pixels apart."""

UNNAMED: Final = "without a type"

Row = dict[str, Any]


def report(log: str, tables: dict[str, pa.Table], verdict: AuditVerdict | None) -> str:
    """The page. `tables` are those of `Analysis.tables`; without deliveries there is no verdict."""
    sections = [
        ("traffic", "Traffic", _traffic(tables["minutes"])),
        ("types", "Types", _counted(tables["types"], "type", "Events and deliveries of each type")),
        (
            "brokers",
            "Brokers",
            _counted(tables["brokers"], "broker", "Events accepted and deliveries made by each broker"),
        ),
        ("subscribers", "Subscribers", _subscribers(tables["subscribers"])),
        ("latency", "Latency", _latency(tables["latency"])),
        ("hops", "Hops", _hops(tables["hops"])),
        ("links", "Links", _links(tables["links"])),
        ("subscriptions", "Subscriptions", _subscriptions(tables["subscriptions"])),
        ("duplicates", "Duplicate subscriptions", _groups(tables["groups"])),
        ("moves", "Moves", _moves(tables["moves"])),
    ]
    contents = "".join(f'<li><a href="#{id}">{title}</a></li>' for id, title, _ in sections)
    body = "".join(f'<section id="{id}"><h2>{title}</h2>{content}</section>' for id, title, content in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        f"<title>Event log {escape(log)}</title><style>{STYLE}</style></head><body><main>"
        f"<h1>Event log <code>{escape(log)}</code></h1>{_verdict(verdict)}<nav><ul>{contents}</ul></nav>{body}"
        "<footer>Times are UTC. Every table is a Parquet and a CSV file beside this page.</footer>"
        "</main></body></html>\n"
    )


def _verdict(verdict: AuditVerdict | None) -> str:
    if verdict is None:
        return '<p class="verdict none">No deliveries are recorded in this log, so there is nothing to audit.</p>'
    durable, kind = verdict.durable, "fine" if verdict.is_fine else "broken"
    said = f"The promise was kept for {durable.expected:,} deliveries of {verdict.events:,} events."
    if not verdict.is_fine:
        found = [f"{getattr(durable, name):,} {_words(name)}" for name in DEFECTS[:4] if getattr(durable, name)]
        found += [f"{n:,} fast {w}" for w in ("duplicated", "unexpected") if (n := getattr(verdict.fast, w))]
        said = f"The promise was broken: {', '.join(found)}."
    names = DeliveryTally.__struct_fields__
    rows = [
        {"": quality, **{name: getattr(tally, name) for name in names}}
        for quality, tally in (("durable", durable), ("fast", verdict.fast))
    ]
    mark = "✓" if verdict.is_fine else "✗"
    limit = f"Late is more than {verdict.late_after.total_seconds():g} s after acceptance, and a warning."
    left = f" {verdict.left_out:,} events are left out, because retention can have taken what belongs to them." * bool(
        verdict.left_out
    )
    return f'<p class="verdict {kind}">{mark} {said}</p>{table(rows)}<p class="note">{limit}{left}</p>'


def _traffic(minutes: pa.Table) -> str:
    if not minutes.num_rows:
        return _nothing("events")
    times, series, width = binned(minutes)
    unit = "counts per minute" if width == 1 else f"counts per {width} minutes"
    chart = lines(f"Events and deliveries, {unit}", times, series, unit=unit)
    busiest = minutes.sort_by([("events", "descending"), ("minute", "ascending")])
    return _figure(f"Events accepted and deliveries made, {unit}", chart, "The busiest minutes", busiest)


def binned(minutes: pa.Table) -> tuple[list[datetime], dict[str, list[float]], int]:
    """The minutes from the first to the last in at most BINS_MAX bins, empty ones included; their width in minutes."""
    ticks = pc.divide(minutes["minute"].cast(pa.timestamp("s", "UTC")).cast(pa.int64()), 60).to_pylist()
    first, last = min(ticks), max(ticks)
    width = -(-(last - first + 1) // BINS_MAX)
    count = (last - first) // width + 1
    series = {name: [0.0] * count for name in ("events", "deliveries")}
    for name, values in series.items():
        for tick, value in zip(ticks, minutes[name].to_pylist(), strict=True):
            values[(tick - first) // width] += value
    begin = datetime.fromtimestamp(first * 60, UTC)
    return [begin + timedelta(minutes=width * at) for at in range(count)], series, width


def _counted(rows: pa.Table, key: str, title: str) -> str:
    if not rows.num_rows:
        return _nothing("events")
    shown = [Bar(row[key] or UNNAMED, (row["events"], row["deliveries"])) for row in _first(rows)]
    return _figure(title, bars(title, shown, ("events", "deliveries"), unit="counts"), "All numbers", rows)


def _subscribers(rows: pa.Table) -> str:
    if not rows.num_rows:
        return _nothing("deliveries")
    title = "Deliveries of the busiest subscribers"
    shown = [Bar(row["subscriber"], (row["deliveries"],)) for row in _first(rows)]
    return _figure(title, bars(title, shown, ("deliveries",), unit="counts"), "The busiest subscribers", rows)


def _latency(rows: pa.Table) -> str:
    if not rows.num_rows:
        return _nothing("deliveries")
    title = "Time from acceptance to acknowledged delivery, in milliseconds"
    names = ("p50_ms", "p90_ms", "p99_ms")
    shown = [
        Bar(f"{row['quality']}, {name.removesuffix('_ms')}", (row[name] or 0,))
        for row in rows.to_pylist()
        for name in names
    ]
    return _figure(title, bars(title, shown, ("latency",), unit="milliseconds"), "By quality", rows)


def _hops(rows: pa.Table) -> str:
    if not rows.num_rows:
        return _nothing("traces")
    title = "Copies by the number of links they went over"
    shown = [Bar(f"{row['hops']} {'hop' if row['hops'] == 1 else 'hops'}", (row["copies"],)) for row in _first(rows)]
    return _figure(title, bars(title, shown, ("copies",), unit="counts"), "All numbers", rows)


def _links(rows: pa.Table) -> str:
    if not rows.num_rows:
        return _nothing("traces")
    title = "Bytes over each link, the busiest first"
    shown = [Bar(f"{row['from_broker']} → {row['to_broker']}", (row["bytes"],)) for row in _first(rows)]
    return _figure(title, bars(title, shown, ("bytes",), unit="bytes"), "The busiest links", rows)


def _subscriptions(rows: pa.Table) -> str:
    if not rows.num_rows:
        return _nothing("subscriptions")
    counts = {state: pc.sum(pc.equal(rows["state"], state)).as_py() or 0 for state in ("hot", "used", "dead")}
    title = "Versions of subscriptions by how much they matched"
    meaning = {"hot": "hot: over 10 × mean", "used": "used", "dead": "dead: no match"}
    chart = bars(
        title, [Bar(meaning[state], (count,)) for state, count in counts.items()], ("versions",), unit="counts"
    )
    dead = rows.filter(pc.equal(rows["state"], "dead")).sort_by(
        [("exposed", "descending"), ("subscription", "ascending")]
    )
    return (
        _figure(title, chart, "Those with the most matches", rows)
        + f"<h3>Dead subscriptions, {counts['dead']:,}</h3>"
        + (_shown(dead) if dead.num_rows else "<p>Every subscription matched something.</p>")
    )


def _groups(rows: pa.Table) -> str:
    if not rows.num_rows:
        return "<p>No two subscriptions of one home broker were found that accept the same events.</p>"
    saved = {name: pc.sum(rows[name]).as_py() for name in rows.column_names if name.startswith("saved_")}
    title = "What one filter for each group would save"
    chart = bars(title, [Bar(_words(name), (value,)) for name, value in saved.items()], ("saved",), unit="counts")
    return _figure(title, chart, "Subscriptions that accept the same events", rows)


def _moves(rows: pa.Table) -> str:
    if not rows.num_rows:
        return "<p>No subscription moved to another home broker.</p>"
    return f"<p>Defects of events accepted within a minute of a move.</p>{_shown(rows)}"


def _figure(title: str, chart: str, caption: str, rows: pa.Table) -> str:
    return f"<figure><figcaption>{escape(title)}</figcaption>{chart}</figure><h3>{escape(caption)}</h3>{_shown(rows)}"


def _first(rows: pa.Table) -> list[Row]:
    found: list[Row] = rows.slice(0, ROWS_SHOWN).to_pylist()
    return found


def _shown(rows: pa.Table) -> str:
    more = rows.num_rows - ROWS_SHOWN
    return table(_first(rows)) + (f'<p class="note">and {more:,} more</p>' if more > 0 else "")


def table(rows: Sequence[Row]) -> str:
    """Rows as an HTML table; numbers stand to the right."""
    names = list(rows[0])
    head = "".join(_heading(name, rows[0][name]) for name in names)
    body = "".join("<tr>" + "".join(_cell(row[name]) for name in names) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _heading(name: str, value: Any) -> str:
    side = ' class="number"' if isinstance(value, (int, float)) else ""
    return f'<th scope="col"{side}>{escape(_words(name))}</th>'


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f'<td class="number">{number(value)}</td>'
    return f"<td>{escape(_named(value))}</td>"


def _named(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _words(name: str) -> str:
    """A column's name in words, its unit last: `p50_ms` is p50, ms."""
    return name.removesuffix("_ms").replace("_", " ") + (", ms" if name.endswith("_ms") else "")


def _nothing(what: str) -> str:
    return f"<p>There are no {what} in this log.</p>"
