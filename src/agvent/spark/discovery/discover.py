"""Discover: stored documents and advertisements as a database of XML and of tables (Narada §7.3).

XPath asks the documents and the XML form of the advertisements, as a subscription in XPath would; SQL asks the tables
`documents`, `types`, `type_attributes` and `type_behaviours`. Both see only the last version of each
owner, and only the realm that the query is limited to.
"""

from __future__ import annotations

import os
import re
from typing import Final, NoReturn

from pyspark.errors import ParseException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.pandas.types import from_arrow_schema

from agvent.errors import CallerError, FilterError
from agvent.filters.subscription import Subscription
from agvent.spark.replays.table_replay import replay
from agvent.spark.runtime.session import is_connect
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.log_reader import LogReader
from agvent.store.log_schema import TABLES

LANGUAGES: Final = ("xpath", "sql")
TO: Final = "to"
XML: Final = "$xml"

STANDING: Final = {
    "documents": (("document",), ("version",)),
    "types": (("type", "schema", "publisher"), ("advertised_at", "change")),
}
"""What names a thing in a table, and what is greatest in the row that stands; `unadvertise` is after `advertise`."""

PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)")


def discover(
    spark: SparkSession,
    log: str | os.PathLike[str],
    query: str,
    *,
    language: str = "xpath",
    realm: str | None = None,
    to: str | None = None,
) -> DataFrame:
    """Answer a query over a log's documents and advertisements.

    XPath gives the documents for which it is true: `source` (document or advertisement), `name`, `version`, `owner`,
    `broker`, `realm`, `stored_at`, `xml`. SQL gives the columns that it selects from `documents`, `types`,
    `type_attributes` and `type_behaviours`. `realm` R limits both to R and the realms that begin with R/. With `to`,
    the first column has this name.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from agvent.sample_day.day_plan import DayPlan
    >>> from agvent.sample_day.generate import generate
    >>> from agvent.spark import discover, session
    >>> day = Path(mkdtemp()) / "day"
    >>> made = generate(day, DayPlan(events=100, subscriptions=20))
    >>> query = "SELECT DISTINCT type FROM types WHERE type = 'Quote'"
    >>> [row.type for row in discover(session("local[1]"), day, query, language="sql").collect()]
    ['Quote']
    """
    if language not in LANGUAGES:
        raise CallerError(f"the language of a query is {' or '.join(LANGUAGES)}, not {language!r}")
    reader = LogReader(log)
    with translated_errors():
        found = _xpath(spark, reader, query, realm) if language == "xpath" else _sql(spark, reader, query, realm)
        return found if to is None else found.select(sf.lit(to).alias(TO), *found.columns)


def _stored(spark: SparkSession, reader: LogReader, table: str) -> DataFrame:
    """A table of the log, of the segments that its head names."""
    schema = from_arrow_schema(TABLES[table].schema)
    paths = [str(reader.path.absolute() / one.path) for one in reader.segments(table)]
    return spark.read.schema(schema).parquet(*paths) if paths else spark.createDataFrame([], schema)


def _standing(spark: SparkSession, reader: LogReader, table: str, realm: str | None) -> DataFrame:
    """The last row of each thing, without what was withdrawn. Things change realms, so that is asked last."""
    names, order = STANDING[table]
    stored = _stored(spark, reader, table)
    last = stored.groupBy(*names).agg(sf.max_by(sf.struct(*stored.columns), sf.struct(*order)).alias("last"))
    rows = last.select("last.*")
    present = sf.col("change") == "advertise" if table == "types" else sf.col("xml").isNotNull()
    return rows.where(present) if realm is None else rows.where(present & in_realm(realm))


def in_realm(realm: str) -> Column:
    return (sf.col("realm") == realm) | sf.col("realm").startswith(f"{realm.rstrip('/')}/")


# XPath


def _xpath(spark: SparkSession, reader: LogReader, query: str, realm: str | None) -> DataFrame:
    subscription = Subscription(id="query", language="xpath", filter=query)
    documents, types = (_standing(spark, reader, table, realm) for table in STANDING)
    both = _form(documents, "document", name="document", version="version", owner="owner", stored_at="stored_at").union(
        _form(types, "advertisement", name="type", version="schema", owner="publisher", stored_at="advertised_at")
    )
    return replay(both, subscription).withColumnRenamed(XML, "xml").sort("source", "name", "version")


def _form(rows: DataFrame, source: str, *, name: str, version: str, owner: str, stored_at: str) -> DataFrame:
    return rows.select(
        sf.lit(source).alias("source"),
        sf.col(name).alias("name"),
        sf.col(version).cast("string").alias("version"),
        sf.col(owner).alias("owner"),
        "broker",
        "realm",
        sf.col(stored_at).alias("stored_at"),
        sf.col("xml").alias(XML),
    )


# SQL


def _sql(spark: SparkSession, reader: LogReader, query: str, realm: str | None) -> DataFrame:
    """Spark SQL over four views, in a session of their own where there can be one: no other table is in reach there."""
    asked = spark if is_connect(spark) else spark.newSession()
    if asked is not spark:
        asked.conf.set("spark.sql.runSQLOnFiles", "false")
    types = _standing(asked, reader, "types", realm)
    views = {"documents": _standing(asked, reader, "documents", realm), "types": types}
    for lesser in ("type_attributes", "type_behaviours"):
        views[lesser] = _stored(asked, reader, lesser).join(types, ["type", "schema"], "left_semi")
    for name, view in views.items():
        view.createOrReplaceTempView(name)
    try:
        # Only a query can stand in parentheses, so that a command is a mistake of grammar.
        return asked.sql(f"SELECT * FROM (\n{query.rstrip().removesuffix(';')}\n)")
    except ParseException as error:
        _complain(error, query)


def _complain(error: ParseException, query: str) -> NoReturn:
    """Spark's complaint with the place in the query, whose first line is the second of what Spark was given."""
    place = PLACE.search(str(error))
    line, column = (int(place[1]) - 2, int(place[2])) if place else (0, 0)
    before = query.split("\n")[: max(line, 0)]
    position = min(sum(len(text) + 1 for text in before) + column, len(query))
    said = str(error).splitlines()[0].partition("] ")[2] or str(error).splitlines()[0]
    raise FilterError(PLACE.sub("", said).strip(), query, position, hint="the query is a SELECT of Spark SQL") from None
