"""Discovery: queries in XPath and SQL find what stands in the log, in the realm they are limited to."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from agvent.errors import CallerError, FilterError
from agvent.spark.discovery.discover import discover
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, AdvertisedBehaviour, Advertisement, AgventType, Parameter
from tests.awkward_log import START

BOOK = AgventType(
    name="Book",
    ancestors=("Publication",),
    description="A new book.",
    attributes=(AdvertisedAttribute("pages", "int", "Printed pages"), AdvertisedAttribute("price", "float")),
    behaviours=(AdvertisedBehaviour("wholesale_price", "float", (Parameter("amount", "int"),)),),
)
TAPE = AgventType(name="Tape", attributes=(AdvertisedAttribute("price", "float"),))


def document(name: str, version: int, xml: str | None, realm: str = "eu") -> dict[str, Any]:
    return {
        "document": name,
        "version": version,
        "owner": "acme",
        "broker": "b1",
        "realm": realm,
        "xml": xml,
        "stored_at": START,
    }


def drinks(price: float) -> str:
    return f"<menu><softdrinks><price>{price}</price></softdrinks></menu>"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Books and tapes, one of each withdrawn; a menu that changed, one that was withdrawn, one that moved away."""
    path = tmp_path_factory.mktemp("discover") / "log"
    create_log(path)
    with LogWriter(path) as writer:
        writer.append_catalogue(
            advertisements=[
                advertised(BOOK, "acme", "eu/ankara"),
                advertised(BOOK, "apex", "europe"),
                advertised(TAPE, "acme", "eu"),
            ]
        )
        writer.append_catalogue(withdrawn=[advertised(TAPE, "acme", "eu", minutes=1)])
        writer.append("documents", [document("old", 1, drinks(2.5)), document("gone", 1, drinks(2.5))])
        writer.append(
            "documents",
            [
                document("old", 2, drinks(1.0)),
                document("gone", 2, None),
                document("far", 1, drinks(2.0)),
                document("far", 2, drinks(2.0), realm="us"),
                document("near", 1, drinks(3.0), realm="eu/ankara"),
            ],
        )
    return path


def advertised(type_: AgventType, publisher: str, realm: str, *, minutes: int = 0) -> Advertisement:
    at = START + timedelta(minutes=minutes)
    return Advertisement(type=type_, publisher=publisher, broker="b1", realm=realm, advertised_at=at)


def named(spark: SparkSession, log: Path, query: str, **options: Any) -> list[tuple[Any, ...]]:
    found = discover(spark, log, query, **options)
    return [(row.source, row.name, row.owner, row.realm) for row in found.collect()]


def test_xpath_finds_documents_that_stand(spark: SparkSession, log: Path) -> None:
    """A query sees the highest version of a document, and none that was withdrawn."""
    assert named(spark, log, "/menu/softdrinks[price > 1.80]") == [
        ("document", "far", "acme", "us"),
        ("document", "near", "acme", "eu/ankara"),
    ]


def test_xpath_finds_advertisements(spark: SparkSession, log: Path) -> None:
    """An advertisement is a document of its own form; one that was withdrawn is not found."""
    assert named(spark, log, "/advertisement[attribute/@name = 'price']") == [
        ("advertisement", "Book", "acme", "eu/ankara"),
        ("advertisement", "Book", "apex", "europe"),
    ]


def test_a_realm_holds_itself_and_what_is_below_it(spark: SparkSession, log: Path) -> None:
    """The realm eu has eu and eu/ankara, and not europe; nor what has moved to another realm since."""
    assert named(spark, log, "/menu | /advertisement", realm="eu") == [
        ("advertisement", "Book", "acme", "eu/ankara"),
        ("document", "near", "acme", "eu/ankara"),
        ("document", "old", "acme", "eu"),
    ]


def test_results_are_addressed(spark: SparkSession, log: Path) -> None:
    """With an asker, the first column of every result names it."""
    found = discover(spark, log, "/menu", realm="us", to="ann")
    assert found.columns[0] == "to"
    assert [row.asDict() for row in found.collect()] == [
        {
            "to": "ann",
            "source": "document",
            "name": "far",
            "version": "2",
            "owner": "acme",
            "broker": "b1",
            "realm": "us",
            "stored_at": START.replace(tzinfo=None),
            "xml": drinks(2.0),
        }
    ]


def test_sql_asks_the_tables(spark: SparkSession, log: Path) -> None:
    """A SELECT joins types, their attributes and behaviours, as far as they stand in the realm."""
    query = """
        SELECT DISTINCT t.type, a.attribute, a.kind, b.parameters[0].name AS parameter
        FROM types t JOIN type_attributes a USING (type, schema) JOIN type_behaviours b USING (type, schema)
        WHERE array_contains(t.ancestors, 'Publication') ORDER BY attribute;"""
    assert [tuple(row) for row in discover(spark, log, query, language="sql", realm="eu").collect()] == [
        ("Book", "pages", "int", "amount"),
        ("Book", "price", "float", "amount"),
    ]


def test_sql_sees_one_realm(spark: SparkSession, log: Path) -> None:
    """Every table is limited: a realm without advertisements has no attributes either."""
    query = "SELECT (SELECT count(*) FROM type_attributes), (SELECT count(*) FROM types), document FROM documents"
    assert [tuple(row) for row in discover(spark, log, query, language="sql", realm="us").collect()] == [(0, 0, "far")]


@pytest.mark.parametrize(
    ("query", "line", "column"),
    [("SELECT type\nFROM types WHERE =", 2, 18), ("DROP TABLE types", 1, 12), ("SELECT * FROM types)", 1, 21)],
)
def test_a_query_that_is_none_says_where(spark: SparkSession, log: Path, query: str, line: int, column: int) -> None:
    """A text that is no SELECT is refused with its place, and a command is none."""
    with pytest.raises(FilterError) as caught:
        discover(spark, log, query, language="sql")
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(
    "query", ["SELECT nothing FROM types", "SELECT * FROM parquet.`/`", "SELECT * FROM deliveries"]
)
def test_sql_reaches_no_other_table(spark: SparkSession, log: Path, query: str) -> None:
    """Only the four tables are in reach: no files, no others of the log."""
    with pytest.raises(CallerError):
        discover(spark, log, query, language="sql")


def test_a_bad_xpath_says_where(spark: SparkSession, log: Path) -> None:
    """As a filter in XPath does."""
    with pytest.raises(FilterError) as caught:
        discover(spark, log, "/menu[price >")
    assert (caught.value.line, caught.value.column) == (1, 14)


def test_an_empty_log_answers_nothing(spark: SparkSession, tmp_path: Path) -> None:
    """A log without documents and advertisements is no mistake."""
    create_log(tmp_path / "log")
    assert discover(spark, tmp_path / "log", "/menu").collect() == []
    assert discover(spark, tmp_path / "log", "SELECT * FROM types", language="sql").collect() == []
