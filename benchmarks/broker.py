"""How fast brokers are, as processes on this machine: `make bench-broker`, or one row with `--row durable`.

Publisher and subscriber are one Python process, each broker another, all on this machine's cores. A rate is taken from
the first publication to the last delivery, after an eighth of the events that nobody counts. Peers run in the same run
if they are installed; otherwise their row says how to get them.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final

import msgspec
import uvloop
from rich.console import Console
from rich.table import Table

import page
from broker_network import Figure
from broker_rates import durable, subscriptions, topic
from broker_times import healing, large, latency, soak

ROWS: Final[dict[str, Callable[[float], AsyncIterator[Figure]]]] = {
    "subscriptions": subscriptions,
    "topic": topic,
    "durable": durable,
    "latency": latency,
    "large": large,
    "healing": healing,
    "soak": soak,
}
HEADINGS: Final = ("measured", "value", "unit", "aim", "ours / theirs", "µs of CPU: clients, brokers")
SOAK_MINUTES: Final = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", choices=[*ROWS], action="append", help="only this one; may repeat")
    parser.add_argument("--scale", type=float, default=1.0, help="how many events, against the usual (1)")
    parser.add_argument("--minutes", type=float, default=SOAK_MINUTES, help="how long the soak takes")
    parser.add_argument("--json", action="store_true", help="one JSON object a figure")
    parser.add_argument("--page", action="store_true", help="put the table into docs/performance.md")
    args = parser.parse_args()
    figures: list[Figure] = []
    for name in args.row or ROWS:
        much = args.minutes if name == "soak" else args.scale
        figures += uvloop.run(_figures(name, much, show=args.json))
    if args.page:
        command = f"python benchmarks/broker.py {shlex.join(sys.argv[1:])}"
        page.replace_block(
            "broker", f"{page.table(HEADINGS, [_cells(one) for one in figures])}\n\n{page.made_by(command)}"
        )
    elif not args.json:
        _show(figures)
    return 0


async def _figures(name: str, much: float, *, show: bool) -> list[Figure]:
    figures = []
    async for figure in ROWS[name](much):
        figures.append(figure)
        if show:
            print(msgspec.json.encode(figure).decode(), flush=True)
    return figures


def _cells(figure: Figure) -> tuple[str, ...]:
    value = figure.note or f"{figure.value:,.1f}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.0f}" if figure.ratio >= 10 else f"{figure.ratio:.1f}"
    cpu = ", ".join(f"{one:.1f}" for one in figure.cpu_us or ())
    return (figure.row, value, "" if figure.note else figure.unit, figure.target, ratio, cpu)


def _show(figures: list[Figure]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in HEADINGS:
        table.add_column(column, justify="left" if column in ("measured", "unit") else "right")
    for figure in figures:
        table.add_row(*_cells(figure))
    Console().print(table)


if __name__ == "__main__":
    sys.exit(main())
