"""`agvent spark audit`: was every event delivered to exactly those it was due to?"""

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

    from agvent.spark.audit import Audit, Tally, Verdict

SUMMARY = "say whether every event of a log was delivered as it should have been"

DESCRIPTION = """\
Compute anew which subscriptions each event of a log was due to, compare with what
was delivered, and say what was lost, duplicated, unexpected, out of order or late.

Losses that the log declares are no violations, and neither are lost `fast` events
and late deliveries; all are counted.
"""

EPILOG = """\
With --out, every defect is a row of Parquet in DIR, which must be new: `defect`, the
event, the subscription, where and when, and `why`.

examples:
  agvent spark audit day
  agvent spark audit day --json
  agvent spark audit day --out defects --late-after 5 --fail-late

exit codes: 0 the promise was kept, 1 it was not, 2 a bad argument, 3 the log cannot
be read, or Spark did not start or gave up, 130 interrupted
"""

COUNTS: Final = ("expected", "delivered", "lost", "duplicated", "unexpected", "out_of_order", "late", "declared")
SHOWN_OF_EACH: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="folder of an event log")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--out", metavar="DIR", help="folder for the defects as Parquet, which must be new")
    parser.add_argument(
        "--late-after", type=seconds, metavar="SECONDS", help="a delivery that took longer is late; 60 unless given"
    )
    parser.add_argument("--fail-late", action="store_true", help="a late delivery is a violation too")
    parser.add_argument(
        "--until", type=moment, metavar="TIME", help="leave out events accepted later: they may be on their way"
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
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return timedelta(seconds=found)


def moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no time such as 2026-03-01T12:00:00Z") from None
    if found.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text!r} does not say its time zone: end it with Z or +02:00")
    return found


def run(args: argparse.Namespace) -> int:
    from agvent.spark.write import check_free
    from agvent.store.log import LogReader

    if args.out is not None:
        check_free(args.out)
    reader = LogReader(args.log)
    with running(args, app="agvent spark audit") as (spark, _):
        from agvent.spark.audit import LATE_AFTER, audit

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
    """Writes the defects if that is wanted; the first of each kind. Without any, the log is not gone through again."""
    from agvent.spark.faults import faults

    verdict = found.verdict
    if out is None and verdict.is_fine and not (verdict.durable.late + verdict.fast.late + verdict.fast.lost):
        return []
    with faults():
        defects = found.defects
        if out is not None:
            defects.write.mode("overwrite").parquet(out)
            defects = spark.read.parquet(out)
        return [row.asDict() for row in _first(defects).collect()]


def _first(defects: DataFrame) -> DataFrame:
    from pyspark.sql import Window
    from pyspark.sql import functions as sf

    order = Window.partitionBy("defect").orderBy("quality", "publisher", "sequence", "subscription")
    numbered = defects.withColumn("number", sf.row_number().over(order))
    return numbered.where(sf.col("number") <= SHOWN_OF_EACH).orderBy("defect", "number").drop("number")


def show(console: Console, log: str, verdict: Verdict, defects: list[dict[str, Any]], *, out: str | None) -> None:
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


def sentence(log: str, verdict: Verdict) -> str:
    """The verdict in one line."""
    durable, fast = verdict.durable, verdict.fast
    if not verdict.events:
        return f"✓ {log}: there are no events in this log"
    if verdict.is_fine:
        return f"✓ {log}: the promise was kept for {durable.expected:,} deliveries of {verdict.events:,} events"
    counts = {name: getattr(durable, name) for name in COUNTS[2:6]}
    counts |= {"fast duplicated": fast.duplicated, "fast unexpected": fast.unexpected}
    said = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items() if count)
    return f"✗ {log}: the promise was broken: {said}"


def notes(verdict: Verdict) -> list[str]:
    """What a reader of the counts has to know."""
    durable, fast = verdict.durable, verdict.fast
    found = []
    if durable.expected and not durable.delivered:
        found.append("The log has no deliveries: was it written by something that delivers and records it?")
    if durable.declared or fast.declared:
        found.append(f"declared losses: {durable.declared + fast.declared:,}, which the log's gaps name.")
    if fast.lost:
        found.append(f"lost fast events: {fast.lost:,}, which the promise allows.")
    if durable.late or fast.late:
        limit = f"{verdict.late_after.total_seconds():g} s"
        found.append(f"warning: deliveries that took longer than {limit}: {durable.late + fast.late:,}.")
    if verdict.left_out:
        found.append(f"events left out: {verdict.left_out:,}, dropped by retention in part, or later than --until.")
    return found


def _counts(verdict: Verdict) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))  # all of it fits into 80 columns
    table.add_column("")
    for name in COUNTS:
        table.add_column(name.replace("_", " "), justify="right")
    for name, tally in (("durable", verdict.durable), ("fast", verdict.fast)):
        table.add_row(name, *(_count(name, column, tally) for column in COUNTS))
    return table


def _count(quality: str, column: str, tally: Tally) -> Text:
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
