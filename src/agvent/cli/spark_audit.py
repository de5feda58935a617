"""`agvent spark audit`: was every event delivered to exactly the subscriptions that it was due to?"""

from __future__ import annotations

import argparse
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agvent.cli.spark_job import add_master, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from agvent.spark.audits.audit import Audit, AuditVerdict, DeliveryTally

SUMMARY = "check that every event of a log was delivered as it should have been"

DESCRIPTION = """\
Compute which subscriptions each event of a log was due to, compare with the
recorded deliveries, and count those that were lost, duplicated, unexpected, out of
order or late.

Declared losses, lost `fast` events and late deliveries are counted, but are not
violations.
"""

EPILOG = """\
With --out, every defect is a row of Parquet in DIR: `defect`, the event, the
subscription, the brokers and times, and `why`.

examples:
  agvent spark audit day
  agvent spark audit day --json
  agvent spark audit day --out defects --late-after 5 --fail-late

exit codes: 0 the promise was kept, 1 it was not, 2 a bad argument, 3 the log cannot
be read, or Spark did not start or failed, 130 interrupted
"""

COUNTS: Final = ("expected", "delivered", "lost", "duplicated", "unexpected", "out_of_order", "late", "declared")
SHOWN_OF_EACH: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="folder of an event log")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--out", metavar="DIR", help="folder for the defects as Parquet; it must be new or empty")
    parser.add_argument(
        "--late-after", type=seconds, metavar="SECONDS", help="a delivery that took longer is late (default: 60)"
    )
    parser.add_argument("--fail-late", action="store_true", help="count a late delivery as a violation")
    parser.add_argument(
        "--until", type=moment, metavar="TIME", help="leave out events accepted later, which may still be on their way"
    )
    parser.add_argument(
        "--shared", metavar="DIR", help="a folder that every machine of the cluster sees, for the index"
    )
    add_master(parser)
    parser.set_defaults(run=run)


def seconds(text: str) -> timedelta:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return timedelta(seconds=found)


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time such as 2026-03-01T12:00:00Z") from None
    if found.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} does not say its time zone: end it with Z or +02:00")
    return found


def run(args: argparse.Namespace) -> int:
    from agvent.spark.files.output_folder import check_free
    from agvent.store.log_reader import LogReader

    if args.out is not None:
        check_free(args.out)
    reader = LogReader(args.log)
    with running(args, app="agvent spark audit") as (spark, _):
        from agvent.spark.audits.audit import LATE_AFTER, audit

        found = audit(
            spark,
            reader,
            late_after=LATE_AFTER if args.late_after is None else args.late_after,
            until=args.until,
            shared=args.shared,
        )
        verdict = found.verdict
        shown = [] if args.json and args.out is None else _kept(spark, found, args.out)
    if args.json:
        report = {**verdict.as_json(), **({"out": args.out} if args.out is not None else {})}
        print(msgspec.json.format(msgspec.json.encode(report), indent=0).decode())
    else:
        show(Console(highlight=False), args.log, verdict, shown, out=args.out)
    return 1 if not verdict.is_fine or (args.fail_late and verdict.durable.late + verdict.fast.late) else 0


def _kept(spark: SparkSession, found: Audit, out: str | None) -> list[dict[str, Any]]:
    """Writes the defects if asked, and gives the first of each kind. Without defects, the log is not read again."""
    from agvent.spark.files.output_folder import write_frames
    from agvent.spark.runtime.spark_errors import translated_errors

    verdict = found.verdict
    if out is None and verdict.is_fine and not (verdict.durable.late + verdict.fast.late + verdict.fast.lost):
        return []
    with translated_errors():
        defects = found.defects
        if out is not None:
            write_frames([("", defects)], out)
            defects = spark.read.parquet(out)
        return [row.asDict() for row in _first(defects).collect()]


def _first(defects: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    order = Window.partitionBy("defect").orderBy("quality", "publisher", "sequence", "subscription")
    numbered = defects.withColumn("number", sf.row_number().over(order))
    return numbered.where(sf.col("number") <= SHOWN_OF_EACH).orderBy("defect", "number").drop("number")


def show(console: Console, log: str, verdict: AuditVerdict, defects: list[dict[str, Any]], *, out: str | None) -> None:
    """The verdict in a line, the counts in a table, the first defects with their reasons."""
    style = "bold green" if verdict.is_fine else "bold red"
    console.print(Text(sentence(log, verdict), style=style), soft_wrap=True)
    console.print(_counts(verdict))
    for note in notes(verdict):
        console.print(note, soft_wrap=True)
    if defects:
        console.print()
        console.print(_rows(defects))
        total = sum(getattr(tally, name) for tally in (verdict.durable, verdict.fast) for name in COUNTS[2:7])
        where = f"all of them in {out}" if out is not None else "--out DIR writes all of them"
        console.print(f"{len(defects)} of {total:,} defects; {where}", soft_wrap=True)


def sentence(log: str, verdict: AuditVerdict) -> str:
    """The verdict in one line."""
    durable, fast = verdict.durable, verdict.fast
    if not verdict.events:
        return f"✓ {log}: the log has no events"
    if verdict.is_fine:
        return f"✓ {log}: the promise was kept for {durable.expected:,} deliveries of {verdict.events:,} events"
    counts = {name: getattr(durable, name) for name in COUNTS[2:6]}
    counts |= {"fast duplicated": fast.duplicated, "fast unexpected": fast.unexpected}
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    return f"✗ {log}: the promise was broken: {said}"


def notes(verdict: AuditVerdict) -> list[str]:
    """Sentences that explain the counts."""
    durable, fast = verdict.durable, verdict.fast
    found = []
    if durable.expected and not durable.delivered:
        found.append("The log records no deliveries. Was it written by brokers or by dispatch?")
    if durable.declared or fast.declared:
        found.append(f"declared losses: {durable.declared + fast.declared:,}, named in the log's gaps.")
    if fast.lost:
        found.append(f"lost fast events: {fast.lost:,}, which the promise allows.")
    if durable.late or fast.late:
        limit = f"{verdict.late_after.total_seconds():g} s"
        found.append(f"warning: {durable.late + fast.late:,} deliveries took longer than {limit}.")
    if verdict.left_out:
        found.append(
            f"events left out: {verdict.left_out:,}, because retention dropped a part of them or --until is earlier."
        )
    return found


def _counts(verdict: AuditVerdict) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # all of it fits into 80 columns
    table.add_column("")
    for name in COUNTS:
        table.add_column(name.replace("_", " "), justify="right")
    for name, tally in (("durable", verdict.durable), ("fast", verdict.fast)):
        table.add_row(name, *(_count(name, column, tally) for column in COUNTS))
    return table


def _count(quality: str, column: str, tally: DeliveryTally) -> Text:
    value = getattr(tally, column)
    broken = column in COUNTS[2:6] and not (quality == "fast" and column == "lost")
    style = "red" if broken and value else "yellow" if column in COUNTS[2:7] and value else ""
    return Text(f"{value:,}", style=style)


def _rows(defects: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("defect", "event", "subscription", "why"):
        table.add_column(name, overflow="fold")
    for row in defects:
        event = f"{row['publisher']}:{row['sequence']}" + (" (fast)" if row["quality"] == "fast" else "")
        named = f"{row['subscription']}@{row['version']} of {row['subscriber']}"
        table.add_row(*(Text(text) for text in (row["defect"].replace("_", " "), event, named, row["why"])))
    return table
