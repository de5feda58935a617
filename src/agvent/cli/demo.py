"""`agvent demo`: twelve brokers, a bookshop, a cut link and a killed broker, and whether everything arrived."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from agvent.cli.spark_job import running
from agvent.cli.where import run_async

if TYPE_CHECKING:
    from agvent.demo.story import Story
    from agvent.demo.verdict import DemoReport, WitnessTally

SUMMARY = "start twelve brokers, break some, and say whether everything arrived"

DESCRIPTION = """\
Start the twelve servers of the seeds as processes on this machine. Two houses
publish agvents, seven shops subscribe to some of them. On the way the link AS8–AS9
is cut and the broker AS10 is killed with kill -9, and both come back.

What should arrive is computed in plain Python. It is compared with what the shops
received, with the event log of the network, and with the audit of that log on
Spark; without a Spark that runs here, the first two remain.
"""

EPILOG = """\
examples:
  agvent demo
  agvent demo --agvents 500 --json
  agvent demo --keep

exit codes: 0 nothing lost, duplicated, unexpected or out of order, 1 something was,
2 a bad argument, 3 a broker does not start, 130 interrupted
"""

AGVENTS: Final = 3_000
AGVENTS_MIN: Final = 100
"""Below it a part of the story may have no agvent for the shop that is followed."""

SPARK: Final = ("spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",)
"""A job of seconds: the compiler that starts quickly, and one thread for garbage, take a third less of two cores."""

COUNTS: Final = ("expected", "delivered", "lost", "duplicated", "unexpected", "out_of_order")
WITNESSES: Final = {"shops": "the shops", "log": "the event log", "spark": "Spark's audit"}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--agvents", type=count, default=AGVENTS, metavar="N", help=f"how many are published ({AGVENTS:,})"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--keep", action="store_true", help="leave the brokers' folders and the event log, and say where they are"
    )
    parser.set_defaults(run=run, master=None, config=[*SPARK])


def count(text: str) -> int:
    if not text.isdecimal() or int(text) < AGVENTS_MIN:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of agvents from {AGVENTS_MIN} on")
    return int(text)


def run(args: argparse.Namespace) -> int:
    began = time.monotonic()
    console = Console(stderr=args.json, quiet=args.json and not sys.stderr.isatty(), highlight=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a script's background jobs ignore
    for number in (signal.SIGTERM, signal.SIGHUP):  # no broker is left behind then either
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    with console.status("compiling the kernels, which takes a minute the first time"):
        from agvent.matching.prepare import prepare_kernels

        prepare_kernels()
    folder = Path(mkdtemp(prefix="agvent-demo-"))
    try:
        story = _performed(folder, args.agvents, console)
        report = _judged(args, story, folder, console, began)
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)
    if args.json:
        print(msgspec.json.format(msgspec.json.encode(report.as_json()), indent=0).decode())
    else:
        show(console, report)
    return 0 if report.is_clean else 1


def _performed(folder: Path, agvents: int, console: Console) -> Story:
    """Runs the story: each moment is a line, and on a terminal there is a bar below."""
    from agvent.demo.story import Story

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        task = bars.add_task("starting twelve brokers", total=None)

        def moment(at_s: float, what: str) -> None:
            console.print(f"{at_s:6.1f} s  {what}", markup=False, soft_wrap=True)

        def progress(done: int, total: int) -> None:
            bars.update(task, description="agvents published", completed=done, total=total)

        story = Story(folder, agvents, moment=moment, progress=progress)
        run_async(story.perform())
    return story


def _judged(args: argparse.Namespace, story: Story, folder: Path, console: Console, began: float) -> DemoReport:
    """Collects the log and hears every witness."""
    from agvent.demo.verdict import DemoReport, logged, tally, write_due
    from agvent.net.fleet.collect import collect

    log = folder / "log"
    with console.status("collecting the event log"):
        collect([member.folder / "data" for member in story.fleet.members.values()], log)
        write_due(folder / "expected.jsonl", story.expected)
    witnesses = {
        "shops": tally(story.expected, story.received),
        "log": tally(story.expected, logged(log)),
    }
    missing = _missing()
    if missing is None:
        witnesses["spark"] = _audited(args, log)
    return DemoReport(
        published=story.published,
        faults=story.faults,
        witnesses=witnesses,
        ways=story.ways,
        without_spark=missing,
        folder=str(folder) if args.keep else None,
        seconds=round(time.monotonic() - began, 1),
    )


def _missing() -> str | None:
    """What Spark needs and has not; None if it can run here."""
    from agvent.spark.runtime.doctor import diagnose
    from agvent.spark.runtime.workspace import cache_folder

    missing = [one for one in diagnose(os.environ, cache_folder(os.environ)).findings if not one.good]
    return f"{missing[0].what}: {missing[0].found} ({missing[0].hint})" if missing else None


def _audited(args: argparse.Namespace, log: Path) -> WitnessTally:
    """What `agvent spark audit` counts in the log."""
    from agvent.demo.verdict import WitnessTally

    with running(args, app="agvent demo") as (spark, _):
        from agvent.spark import audit

        durable = audit(spark, log).verdict.durable
    return WitnessTally(**{name: getattr(durable, name) for name in COUNTS})


def show(console: Console, report: DemoReport) -> None:
    """The ways, the counts of each witness, and the verdict in a line."""
    for when, way in report.ways.items():
        console.print(f"\nThe way of {way.event}, published {when}, to {way.home}:", soft_wrap=True)
        for leg in way.legs:
            console.print(f"{leg.after_ms:9,.1f} ms  {leg.start} → {leg.end}")
        if way.delivered_ms > way.legs[-1].after_ms:
            console.print(f"{way.delivered_ms:9,.1f} ms  delivered, after those that were published before it")
    console.print()
    console.print(_counts(report))
    if report.without_spark is not None:
        console.print(f"The log was not audited on Spark: {report.without_spark}", markup=False, soft_wrap=True)
    mark, style = ("✓", "bold green") if report.is_clean else ("✗", "bold red")
    found = report.as_json()
    defects = ", ".join(f"{found[name]:,} {name.replace('_', ' ')}" for name in COUNTS[2:])
    said = f"{mark} {report.published:,} agvents, {found['expected']:,} deliveries: {defects}"
    console.print(Text(said, style=style), f"({report.seconds:.0f} s)", soft_wrap=True)
    if report.folder is not None:
        console.print(f"The network is in {report.folder}, its event log in log/ there", soft_wrap=True)


def _counts(report: DemoReport) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("as seen by")
    for name in COUNTS:
        table.add_column(name.replace("_", " "), justify="right")
    for name, tally in report.witnesses.items():
        table.add_row(WITNESSES[name], *(f"{getattr(tally, column):,}" for column in COUNTS))
    return table
