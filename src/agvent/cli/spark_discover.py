"""`agvent spark discover`: queries over stored documents and advertisements."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agvent.cli.spark_job import add_master, running

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SUMMARY = "find stored documents and advertisements with XPath or SQL"

DESCRIPTION = """\
Find stored documents and advertisements of an event log, as in a database.

A query in XPath gives the documents, and the advertisements in their XML form, for
which it is true. A query in SQL is a SELECT of Spark SQL over the tables documents,
types, type_attributes and type_behaviours. docs/reference/event-log.md lists their columns.

Withdrawn documents and replaced versions are not found.
"""

EPILOG = """\
output: a table on a terminal, otherwise a JSON object for each result.

examples:
  agvent spark discover day --query "/advertisement[attribute/@name = 'price']"
  agvent spark discover day --query "//softdrinks[price > 1.80]" --realm eu --to ann
  agvent spark discover day --language sql --query \\
    "SELECT type, description FROM types WHERE array_contains(ancestors, 'Publication')"

exit codes: 0 something was found, 1 nothing, 2 a bad query, 3 the log cannot be
read, or Spark did not start or failed, 130 interrupted
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", help="an event log")
    parser.add_argument("--query", required=True, metavar="TEXT", help="the query")
    parser.add_argument(
        "--language", choices=("xpath", "sql"), default="xpath", help="the query's language (default: xpath)"
    )
    parser.add_argument("--realm", metavar="PATH", help="only results stored in this realm or in one below it")
    parser.add_argument("--to", metavar="ASKER", help="add a first column `to` with this name to the results")
    parser.add_argument("--out", metavar="DIR", help="folder for the results as Parquet; it must be new or empty")
    add_master(parser)
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    from agvent.filters.languages import parse
    from agvent.spark.discovery.discover import discover
    from agvent.spark.files.output_folder import check_free
    from agvent.store.log_reader import LogReader

    if args.language == "xpath":
        parse(args.query, "xpath")
    if args.out is not None:
        check_free(args.out)
    LogReader(args.log)  # a mistake is found before Spark is started
    with running(args, app="agvent spark discover") as (spark, progress):
        found = discover(spark, args.log, args.query, language=args.language, realm=args.realm, to=args.to)
        if args.out is not None:
            return _written(found, args.out)
        rows = _collected(found)
        progress.stop()
    if sys.stdout.isatty():
        _print_table(found.columns, rows)
    else:
        for row in rows:
            print(msgspec.json.format(msgspec.json.encode(row), indent=0).decode())
    return 0 if rows else 1


def _written(found: DataFrame, out: str) -> int:
    from agvent.spark.files.output_folder import write_frames

    count = write_frames([("", found)], out)[""]
    print(f"{count:,} results written to {out}")
    return 0 if count else 1


def _collected(found: DataFrame) -> list[dict[str, Any]]:
    from agvent.spark.runtime.spark_errors import translated_errors

    with translated_errors():
        return [row.asDict(recursive=True) for row in found.collect()]


def _print_table(columns: list[str], rows: list[dict[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if row[name] is None else str(row[name])) for name in columns))
    Console(file=sys.stdout).print(table)
    print(f"{len(rows):,} found")
