"""Draws the ways that two agvents took in the demonstration: one before the cut, one after it.

agvent demo --json > demo.json
python examples/demo_picture.py demo.json > docs/img/demo.svg
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from agvent.demo.bookshop import HOUSES, SHOPS
from agvent.demo.story import CUT, KILLED
from agvent.sim.topology import ABDES

PLACES = {
    "AS1": (70, 150), "AS2": (190, 80), "AS3": (290, 45), "AS4": (120, 250), "AS5": (230, 290), "AS6": (340, 290),
    "AS7": (450, 270), "AS8": (330, 120), "AS9": (490, 120), "AS10": (560, 210), "AS11": (680, 180), "AS12": (620, 70),
}  # fmt: skip
COLOURS = {"before the cut": "#1f77b4", "after the cut": "#2a8a2a"}
ASIDE = 5  # the first way runs this far to the right of its links, the second twice as far: each arrow can be seen
RADIUS = 19

STYLE = """\
text { font: 13px sans-serif; fill: #222 } .small { font-size: 11px; fill: #555 }
.link { stroke: #bbb; stroke-width: 2 } .cut { stroke: #c22; stroke-width: 2; stroke-dasharray: 5 5 }
circle { fill: #fff } .broker { stroke: #555; stroke-width: 1.5 } .killed { stroke: #c22; stroke-width: 3 }
.way { stroke-width: 3; fill: none }"""


def line(start: str, end: str, *, aside: float = 0, short: float = 0) -> str:
    """The coordinates of a line between two brokers, moved aside and ending short of them."""
    (x1, y1), (x2, y2) = PLACES[start], PLACES[end]
    length = math.hypot(x2 - x1, y2 - y1)
    dx, dy = (x2 - x1) / length, (y2 - y1) / length
    points = (
        x1 - dy * aside + dx * short,
        y1 + dx * aside + dy * short,
        x2 - dy * aside - dx * short,
        y2 + dx * aside - dy * short,
    )
    return " ".join(f'{name}="{at:.1f}"' for name, at in zip(("x1", "y1", "x2", "y2"), points, strict=True))


def network() -> Iterator[str]:
    """Links, brokers, and who is where."""
    for start, end in ABDES:
        yield f'<line class="{"cut" if (start, end) == CUT else "link"}" {line(start, end)}/>'
    for name, (x, y) in PLACES.items():
        who = [one.name for one in (*HOUSES, *SHOPS) if one.broker == name]
        yield f'<circle class="{"killed" if name == KILLED else "broker"}" cx="{x}" cy="{y}" r="{RADIUS}"/>'
        yield f'<text x="{x}" y="{y + 4}" text-anchor="middle">{name}</text>'
        beside = y - 26 if y < 170 else y + 37
        yield f'<text class="small" x="{x}" y="{beside}" text-anchor="middle">{", ".join(who)}</text>'


def ways(found: dict[str, Any]) -> Iterator[str]:
    """Each leg as an arrow, and what the colours mean."""
    for number, (when, way) in enumerate(found["ways"].items()):
        colour = COLOURS[when]
        for leg in way["legs"]:
            drawn = line(leg["start"], leg["end"], aside=ASIDE * (number + 1), short=RADIUS)
            yield f'<line class="way" stroke="{colour}" marker-end="url(#tip{number})" {drawn}/>'
        y = 345 + 18 * number
        yield f'<line class="way" stroke="{colour}" x1="60" y1="{y - 4}" x2="90" y2="{y - 4}"/>'
        said = f"{way['event']}, published {when}: at {way['home']} after {way['delivered_ms']:,.0f} ms"
        yield f'<text x="100" y="{y}">{said}</text>'
        yield (
            f'<marker id="tip{number}" viewBox="0 0 6 6" refX="5" refY="3" markerWidth="4" markerHeight="4" '
            f'orient="auto"><path d="M0 0 6 3 0 6z" fill="{colour}"/></marker>'
        )


def picture(found: dict[str, Any]) -> str:
    legend = f'<text x="60" y="381">dashed: {"–".join(CUT)}, cut; red: {KILLED}, killed and started again</text>'
    drawn = "\n".join((*network(), *ways(found), legend))
    background = '<rect width="760" height="395" fill="#fff"/>'
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 395" width="760" height="395">\n'
        f"<style>{STYLE}</style>\n{background}\n{drawn}\n</svg>\n"
    )


def main() -> None:
    print(picture(msgspec.json.decode(Path(sys.argv[1]).read_bytes())), end="")


if __name__ == "__main__":
    main()
