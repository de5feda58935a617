"""`agvent journal`: say what a broker's journal holds, and what a repair would lose."""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from agvent.cli.where import add_doing
from agvent.errors import EnvironmentFault, JournalError

SUMMARY = "look into a broker's journal, and repair one that is damaged"

DESCRIPTION = """\
Look into a broker's journal. A broker whose journal is damaged does not start: it
has lost promises that it made. Nor does a broker start that was forgotten (agvent
broker forget): the others go on without it.

repair says what would be lost, and changes nothing. With --yes it moves the
journal aside, so that the broker begins as a new incarnation. Its neighbours and
clients are notified and open their subscriptions again; undelivered events of this
broker are lost. The old files are kept. The journal of a running broker is not
repaired.
"""

EPILOG = """\
examples:
  agvent journal show agvent-network/B1/data/journal
  agvent journal repair agvent-network/B1/data/journal
  agvent journal repair agvent-network/B1/data/journal --yes

exit codes: 0 whole, or repaired; 1 damaged or forgotten, and not repaired; 3 no journal there
"""

DOINGS = {"show": "say what is in a journal", "repair": "say what a repair would lose; with --yes, do it"}

EXAMPLES = {
    "show": ["agvent journal show agvent-network/B1/data/journal"],
    "repair": [
        "agvent journal repair agvent-network/B1/data/journal          # changes nothing",
        "agvent journal repair agvent-network/B1/data/journal --yes",
    ],
}


def configure(parser: argparse.ArgumentParser) -> None:
    doings = parser.add_subparsers(metavar="DOING", required=True)
    for doing, help in DOINGS.items():
        one = add_doing(doings, doing, help, *EXAMPLES[doing])
        one.add_argument("folder", metavar="FOLDER", type=Path, help="the journal: `journal` in the broker's `data`")
        one.add_argument("--json", action="store_true", help="print JSON")
        if doing == "repair":
            one.add_argument("--yes", action="store_true", help="do it")
        one.set_defaults(run=run, doing=doing, yes=False)


def run(args: argparse.Namespace) -> int:
    with _alone(args.folder) if args.yes else nullcontext():
        facts = contents(args.folder)
        is_over = bool(facts["damage"]) or facts["forgotten"]
        repaired = ""
        if is_over and args.yes:
            why = "damaged" if facts["damage"] else "forgotten"
            aside = args.folder.with_name(f"{args.folder.name}.{why}-{int(time.time())}")
            args.folder.rename(aside)
            repaired = str(aside)
    if args.json:
        print(msgspec.json.encode({**facts, "put_aside": repaired}).decode())
    else:
        print("\n".join(_sentences(facts, repaired)))
    return 1 if is_over and not repaired else 0


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """While no broker has the journal open."""
    from agvent.store.journal import locked

    _check_folder(folder)
    try:
        lock = locked(folder)
    except JournalError as error:
        raise JournalError(error.message, hint="stop the broker first") from None
    try:
        yield
    finally:
        os.close(lock)


def _check_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise EnvironmentFault(f"{folder}: no journal there")


def contents(folder: Path) -> dict[str, Any]:
    """What the readable part of a journal holds, and which records stand after the damage."""
    from agvent.broker.records import decode_record
    from agvent.broker.tables.tables import Tables
    from agvent.net.server.identity import identity_of
    from agvent.store.journal_recovery import contents_after, examine

    _check_folder(folder)
    recovery = examine(folder)
    known = identity_of(folder.parent)
    tables = Tables(known.broker, known.incarnation)
    kinds: Counter[str] = Counter()
    for content in recovery.contents():
        record = decode_record(content)
        tables.apply(record)
        kinds[type(record).__name__] += 1
    after: Counter[str] = Counter()
    if recovery.damage is not None:
        after.update(type(decode_record(content)).__name__ for content in contents_after(folder, recovery.damage))
    clients = tables.deliveries.clients
    return {
        "records": recovery.count,
        "torn_bytes": recovery.torn,
        "damage": recovery.damage,
        "forgotten": tables.is_forgotten,
        "kinds": dict(sorted(kinds.items())),
        "after_damage": dict(sorted(after.items())),
        "clients": len(clients),
        "subscriptions": len(tables.local.current),
        "deliveries": sum(len(client.durable.waiting) for client in clients.values()),
        "events": len(tables.custody.held),
    }


def _sentences(facts: dict[str, Any], repaired: str) -> list[str]:
    held = (
        f"{facts['clients']} clients with {facts['subscriptions']} subscriptions, {facts['deliveries']} deliveries not "
        f"yet acknowledged, {facts['events']} events in custody"
    )
    lines = [f"{facts['records']:,} records: {held}"]
    if facts["torn_bytes"]:
        lines.append(
            f"a torn tail of {facts['torn_bytes']} bytes, which the next start cuts off: it was not acknowledged"
        )
    damage = facts["damage"]
    if damage is None and not facts["forgotten"]:
        return [*lines, "nothing is damaged"]
    if facts["forgotten"]:
        lines.append("forgotten: the network goes on without this broker, and its events and deliveries are dropped")
    if damage is not None:
        lines.append(
            f"damaged: {damage.path} at byte {damage.offset}; the records after sequence {damage.sequence - 1} are lost"
        )
    after = facts["after_damage"]
    if after:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in after.items())
        lines.append(f"{sum(after.values()):,} whole records follow the damage, and cannot be used: {kinds}")
    if repaired:
        return [*lines, f"moved aside to {repaired}: the broker begins as a new incarnation"]
    return [*lines, "a repair loses all of the above, and everything after it; --yes repairs it"]
