"""`agvent status`: what the brokers of a network are doing."""

from __future__ import annotations

import argparse
from typing import Any

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agvent.cli.where import add_where, ask_all, credentials, network, run_async
from agvent.errors import NetworkFault

SUMMARY = "show what the brokers of a network are doing"

DESCRIPTION = """\
Show the brokers of a network, a line each:

  broker   its name, and what is wrong with it: drained, disk full, quarantine
  links    its neighbours: ● linked, ○ not linked, ✂ cut at this end
           (agvent link heal)
  clients  that are attached now
  subs     subscriptions of the clients that are at home here
  custody  events it keeps until the next broker has them
  queued   events that its clients have not acknowledged
  in, out  events published here, and put in line for clients here, since it started
  journal  its size on disk
"""

EPILOG = """\
examples:
  agvent status
  agvent status --at 127.0.0.1:4780 --json

exit codes: 0 every broker answers, 1 some do not, 3 none does
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_where(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    answers = run_async(ask_all(network(args), "status", shown=credentials(args)))
    silent = [answer for answer in answers.values() if isinstance(answer, NetworkFault)]
    if len(silent) == len(answers):
        raise silent[0]
    if args.json:
        for name, answer in answers.items():
            shown = {"broker": name, "error": str(answer)} if isinstance(answer, NetworkFault) else answer
            print(msgspec.json.encode(shown).decode())
    else:
        Console().print(table_of(answers))
    return 1 if silent else 0


def table_of(answers: dict[str, Any]) -> Table:
    """One line for each broker."""
    table = Table(box=None, pad_edge=False)
    table.add_column("broker", no_wrap=True)
    table.add_column("links")
    for column in ("clients", "subs", "custody", "queued", "in", "out", "journal"):
        table.add_column(column, justify="right", no_wrap=True)
    for name, answer in answers.items():
        if isinstance(answer, NetworkFault):
            table.add_row(f"[red]{name}[/red]", f"[red]{answer.message}[/red]")
        else:
            table.add_row(*_cells(answer))
    return table


def _cells(status: dict[str, Any]) -> list[str]:
    marks = {"up": "[green]●[/green]", "down": "[red]○[/red]", "cut": "[yellow]✂[/yellow]"}
    links = " ".join(f"{marks[link['state']]}{link['neighbour']}" for link in status["links"])
    attached = sum(client["attached"] for client in status["clients"])
    full = " [red]disk full[/red]" if status["disk_full"] else ""
    drained = " [yellow]drained[/yellow]" if status["draining"] else ""
    held = ", ".join(sorted({f"{one['type']}.{one['call']}".rstrip(".") for one in status["quarantined"]}))
    quarantine = f" [red]quarantine: {escape(held)}[/red]" if held else ""
    counts = status["counts"]
    return [
        status["broker"] + drained + full + quarantine,
        links,
        str(attached),
        str(status["subscriptions"]),
        str(status["custody"]),
        str(sum(client["queued"] for client in status["clients"])),
        f"{counts.get('events_entered', 0):,}",
        f"{counts.get('deliveries_queued', 0):,}",
        f"{status['journal_bytes'] / 1e6:,.1f} MB",
    ]
