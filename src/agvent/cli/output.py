"""The three forms in which `agvent match` gives its answer. Each is written as it comes, chunk by chunk."""

from __future__ import annotations

from typing import BinaryIO

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

import agvent

IDS_SHOWN_MAX = 20
"""In a table, which is for reading; an event with more matches says how many it leaves out."""


class Paper(Console):
    """A console whose reader may go away, which ends the run as it does everywhere else."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class MatchTotals(msgspec.Struct):
    """What a run has seen so far."""

    subscriptions: int = 0
    events: int = 0
    matches: int = 0
    rejected: int = 0
    unanswered: int = 0
    seconds: float = 0.0

    def sentence(self) -> str:
        rate = f"{self.events / self.seconds:,.0f} events/s" if self.seconds else "no events/s"
        rejected = f", {self.rejected:,} lines rejected" if self.rejected else ""
        return (
            f"{self.events:,} events against {self.subscriptions:,} subscriptions: "
            f"{self.matches:,} matches{rejected} ({rate})"
        )


class JsonLines:
    """One line per event that matched: `{"event": 0, "subscriptions": ["s1", "s7"]}`."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream

    def write(self, matches: agvent.Matches, *, first: int, before: int) -> None:
        for event, ids in matches.by_event():
            if event >= before:
                break
            line = msgspec.json.encode({"event": first + event, "subscriptions": ids})
            self.stream.write(msgspec.json.format(line, indent=0) + b"\n")
        self.stream.flush()

    def finish(self, totals: MatchTotals) -> None:
        """The lines are the whole answer."""


class MatchTable:
    """A table for people: the event, how many subscriptions matched, and the first of them."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.titled = False

    def write(self, matches: agvent.Matches, *, first: int, before: int) -> None:
        table = Table(box=None, show_header=not self.titled, pad_edge=False, expand=True)
        table.add_column("event", justify="right", width=12, no_wrap=True)
        table.add_column("matches", justify="right", width=9, no_wrap=True)
        table.add_column("subscriptions", ratio=1, overflow="fold")
        for event, ids in matches.by_event():
            if event >= before:
                break
            left_out = f" and {len(ids) - IDS_SHOWN_MAX:,} more" if len(ids) > IDS_SHOWN_MAX else ""
            table.add_row(
                str(first + event), f"{len(ids):,}", Text(", ".join(ids[:IDS_SHOWN_MAX]) + left_out, overflow="fold")
            )
        if table.row_count:
            self.titled = True
            self.console.print(table)

    def finish(self, totals: MatchTotals) -> None:
        self.console.print(totals.sentence(), highlight=False)


class Count:
    """The numbers alone: a sentence for people, an object for programs."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def write(self, matches: agvent.Matches, *, first: int, before: int) -> None:
        """Nothing before the end: a count of a part would be taken for the whole."""

    def finish(self, totals: MatchTotals) -> None:
        if self.console.is_terminal:
            self.console.print(totals.sentence(), highlight=False)
            return
        counts = {name: getattr(totals, name) for name in ("events", "subscriptions", "matches", "rejected")}
        self.console.file.write(msgspec.json.format(msgspec.json.encode(counts), indent=0).decode() + "\n")


Output = JsonLines | MatchTable | Count
