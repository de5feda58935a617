"""Charts as inline SVG: bars and lines, drawn by arithmetic. Colours are classes, which the page's style gives.

Each chart has a title and a description for those who do not see it; the page puts the numbers in a table below it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 760
BAR_HEIGHT: Final = 18
BAR_GAP: Final = 8
LINE_HEIGHT: Final = 240
LABEL_CHARACTERS_MAX: Final = 26
CHARACTER: Final = 6.6
"""Width of a character of the charts' 12 px font, a little more than most are."""

TICKS: Final = 5


class Bar(NamedTuple):
    """One bar of a chart for each series; `label` stands beside it."""

    label: str
    values: Sequence[float]


def bars(title: str, rows: Sequence[Bar], series: Sequence[str], *, unit: str) -> str:
    """Horizontal bars, one below the other, with their values; several series stand in groups."""
    labels = [shortened(row.label) for row in rows]
    left = 16 + CHARACTER * max((len(label) for label in labels), default=0)
    most = max((value for row in rows for value in row.values), default=0) or 1
    room = WIDTH - left - 16 - CHARACTER * max((len(number(v)) for row in rows for v in row.values), default=0)
    step = len(series) * BAR_HEIGHT + BAR_GAP
    top = 24 if len(series) > 1 else 4
    parts = [_legend(series, left)] if len(series) > 1 else []
    for at, (row, label) in enumerate(zip(rows, labels, strict=True)):
        y = top + at * step
        middle = y + len(series) * BAR_HEIGHT / 2
        parts.append(
            f'<text class="label" x="{left - 8:.1f}" y="{middle + 4:.1f}" text-anchor="end">{escape(label)}</text>'
        )
        for place, value in enumerate(row.values):
            parts.append(_bar(left, y + place * BAR_HEIGHT, room * value / most, value, place))
    said = f"Bars of {', '.join(series)} in {unit} for {len(rows)} rows; the table below has the numbers."
    return _svg(title, said, top + len(rows) * step, parts)


def _bar(x: float, y: float, length: float, value: float, place: int) -> str:
    thick = BAR_HEIGHT - 3
    drawn = max(length, 1.0 if value else 0.0)
    bar = f'<rect class="s{place}" x="{x:.1f}" y="{y:.1f}" width="{drawn:.1f}" height="{thick}" rx="2"/>'
    return bar + f'<text class="value" x="{x + drawn + 6:.1f}" y="{y + thick - 3:.1f}">{number(value)}</text>'


def lines(title: str, times: Sequence[datetime], series: Mapping[str, Sequence[float]], *, unit: str) -> str:
    """Lines over time, one for each series."""
    top, bottom, right = 28, 28, 12
    scale = ticks(max((value for values in series.values() for value in values), default=0))
    left = 14 + CHARACTER * max(len(number(tick)) for tick in scale)
    width, height = WIDTH - left - right, LINE_HEIGHT - top - bottom
    begin, end = times[0], max(times[-1], times[0] + timedelta(minutes=1))
    x_of = [left + width * (time - begin) / (end - begin) for time in times]
    parts = [_legend(list(series), left)]
    for tick in scale:
        y = top + height * (1 - tick / scale[-1])
        parts.append(f'<line class="grid" x1="{left:.1f}" x2="{WIDTH - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="value" x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{number(tick)}</text>')
    for time in time_ticks(begin, end):
        x = left + width * (time - begin) / (end - begin)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + height}"/>')
        shown = time.strftime("%H:%M" if end - begin <= timedelta(days=2) else "%d %b")
        parts.append(f'<text class="value" x="{x:.1f}" y="{LINE_HEIGHT - 8}" text-anchor="middle">{shown}</text>')
    for place, values in enumerate(series.values()):
        points = " ".join(
            f"{x:.1f},{top + height * (1 - value / scale[-1]):.1f}" for x, value in zip(x_of, values, strict=True)
        )
        parts.append(f'<polyline class="l{place}" points="{points}"/>')
    said = f"Lines of {', '.join(series)} in {unit}, from {begin:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC."
    return _svg(title, said, LINE_HEIGHT, parts)


def _legend(series: Sequence[str], left: float) -> str:
    parts, x = [], left
    for place, name in enumerate(series):
        parts.append(f'<rect class="s{place}" x="{x:.1f}" y="4" width="12" height="12" rx="2"/>')
        parts.append(f'<text class="label" x="{x + 18:.1f}" y="14">{escape(name)}</text>')
        x += 34 + CHARACTER * len(name)
    return "".join(parts)


def _svg(title: str, said: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}">'
        f"<title>{escape(title)}</title><desc>{escape(said)}</desc>{''.join(parts)}</svg>"
    )


def ticks(most: float) -> list[float]:
    """Round numbers from 0 to at least `most`.

    >>> ticks(870)
    [0, 200, 400, 600, 800, 1000]
    """
    rough = max(most, 1) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    step = max(1, round(step)) if step >= 1 else step
    return [step * at for at in range(math.ceil(max(most, 1) / step) + 1)]


STEPS: Final = [timedelta(minutes=m) for m in (1, 5, 15, 30, 60, 180, 360, 720)] + [
    timedelta(days=d) for d in (1, 2, 7, 14, 30, 90, 365)
]


def time_ticks(begin: datetime, end: datetime) -> list[datetime]:
    """Round times between two, nine at most (or one a year)."""
    step = next((one for one in STEPS if (end - begin) / one <= 9), STEPS[-1])
    origin = datetime(begin.year, 1, 1, tzinfo=UTC)
    first = origin + math.ceil((begin - origin) / step) * step
    return [first + step * at for at in range(int((end - first) / step) + 1)] if first <= end else []


def number(value: float) -> str:
    """A number as people read it.

    >>> [number(value) for value in (1234567, 12.345, 0.00123, 3.0)]
    ['1,234,567', '12.3', '0.0012', '3']
    """
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 10 else f"{value:.2g}"


def shortened(label: str) -> str:
    """A label that fits beside a bar."""
    return label if len(label) <= LABEL_CHARACTERS_MAX else f"{label[: LABEL_CHARACTERS_MAX - 1]}…"
