"""Draws docs/img/journey.svg: the messages and records of one durable event, from `publish` to the subscriber's loop.

python examples/journey_picture.py > docs/img/journey.svg
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

LANES = {
    "publisher": "publisher",
    "entry": "B1, its entry",
    "transit": "B2, on the way",
    "home": "B3, its home",
    "subscriber": "subscriber",
}
WIDTH, LEFT, STEP, TOP, ROW = 900, 90, 180, 62, 27

STYLE = """\
text { font: 12px sans-serif; fill: #222 } .lane { font-weight: bold } .act { font-weight: bold; fill: #1f5f99 }
.life { stroke: #bbb; stroke-width: 1 } .message { stroke: #333; stroke-width: 1.5 }
.disk { fill: #fdf3d8; stroke: #c9a227 } .band { fill: #f3f6fa }"""


class Act(NamedTuple):
    """The heading of the rows below it."""

    title: str


class Arrow(NamedTuple):
    """A message from one lane to another."""

    start: str
    end: str
    text: str


class Disk(NamedTuple):
    """A record that a broker syncs before it goes on."""

    lane: str
    text: str


class Note(NamedTuple):
    """A call inside one lane."""

    lane: str
    text: str


STORY: tuple[Act | Arrow | Disk | Note, ...] = (
    Act("1  publish"),
    Note("publisher", "client.publish(event)"),
    Arrow("publisher", "entry", "Publish"),
    Act("2  the entry accepts it"),
    Note("entry", "match: which homes want it?"),
    Disk("entry", "Accepted"),
    Arrow("entry", "publisher", "Published"),
    Act("3  the copy travels"),
    Note("entry", "which neighbour is next?"),
    Arrow("entry", "transit", "Copies"),
    Note("transit", "which neighbour is next?"),
    Arrow("transit", "home", "Copies"),
    Disk("transit", "Kept"),
    Arrow("transit", "entry", "Took"),
    Act("4  the home takes it"),
    Note("home", "its turn? match again"),
    Disk("home", "Arrived"),
    Arrow("home", "transit", "Took"),
    Arrow("home", "entry", "Confirm (routed)"),
    Act("5  the subscriber's loop"),
    Arrow("home", "subscriber", "Deliver"),
    Note("subscriber", "async for delivery"),
    Arrow("subscriber", "home", "Received"),
    Disk("home", "Acknowledged"),
)


def x_of(lane: str) -> int:
    return LEFT + STEP * list(LANES).index(lane)


def row(one: Act | Arrow | Disk | Note, y: int) -> Iterator[str]:
    """The shapes of one row."""
    if isinstance(one, Act):
        yield f'<rect class="band" x="0" y="{y - 17}" width="{WIDTH}" height="23"/>'
        yield f'<text class="act" x="8" y="{y}">{one.title}</text>'
        return
    if isinstance(one, Arrow):
        start, end = x_of(one.start), x_of(one.end)
        yield f'<line class="message" x1="{start}" y1="{y}" x2="{end}" y2="{y}" marker-end="url(#tip)"/>'
        yield f'<text x="{(start + end) / 2:.0f}" y="{y - 5}" text-anchor="middle">{one.text}</text>'
        return
    x = x_of(one.lane)
    if isinstance(one, Disk):
        yield f'<rect class="disk" x="{x - 58}" y="{y - 15}" width="116" height="20" rx="9"/>'
        yield f'<text x="{x}" y="{y - 1}" text-anchor="middle">disk: {one.text}</text>'
    else:
        yield f'<rect fill="#fff" x="{x - 82}" y="{y - 15}" width="164" height="20"/>'
        yield f'<text x="{x}" y="{y - 1}" text-anchor="middle">{one.text}</text>'


def picture() -> str:
    height = TOP + ROW * len(STORY) + 12
    lanes = [f'<text class="lane" x="{x_of(one)}" y="24" text-anchor="middle">{LANES[one]}</text>' for one in LANES]
    lives = [f'<line class="life" x1="{x_of(one)}" y1="34" x2="{x_of(one)}" y2="{height - 8}"/>' for one in LANES]
    rows = [shape for number, one in enumerate(STORY) for shape in row(one, TOP + ROW * number)]
    bands, others = [[one for one in rows if ('class="band"' in one) == is_band] for is_band in (True, False)]
    tip = (
        '<marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 6 3 0 6z" fill="#333"/></marker>'
    )
    drawn = "\n".join((tip, f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>', *bands, *lives, *lanes, *others))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img">\n<title>One event from publish to the subscriber</title>\n'
        f"<style>{STYLE}</style>\n{drawn}\n</svg>\n"
    )


def main() -> None:
    print(picture(), end="")


if __name__ == "__main__":
    main()
