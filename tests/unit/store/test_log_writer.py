"""The log: commits, what readers see, catalogue versions, positions, schema changes, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest

from agvent.errors import LogError, LogFileError
from agvent.event import Event, EventId
from agvent.store.event_columns import LoggedEvent
from agvent.store.index_file import load_index
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, AgventType
from tests.logs import NOON, QUOTE, QUOTES, after, change, delivery, epoch, quote, small_log, version


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return small_log(tmp_path / "log")


def prices(log: Path, schema: str = QUOTE.schema) -> list[Any]:
    return LogReader(log).event_table("Quote", schema)["price"].to_pylist()  # type: ignore[no-any-return]


def test_a_reader_sees_what_was_appended(log: Path) -> None:
    """Events whole and as columns, deliveries, and the offset that Spark's stream needs, from one head."""
    reader = LogReader(log)
    appended = [quote(1, 7.5), quote(2, 12.0), quote(3, 7.5, epoch=2), quote(4, 12.0, epoch=2)]
    assert list(reader.events()) == [msgspec.structs.replace(record, schema=QUOTE.schema) for record in appended]
    assert prices(log) == [7.5, 12.0, 7.5, 12.0]
    assert reader.table("deliveries", columns=["sequence", "position"]).to_pylist() == [
        {"sequence": 1, "position": 1},
        {"sequence": 4, "position": 2},
    ]
    assert reader.offset() == {"ev": {"b1": 4}, "sub": 2}
    assert reader.event_types() == [("Quote", QUOTE.schema)]


def test_a_reader_is_a_view_of_one_moment(log: Path) -> None:
    """What is appended later is seen by who opens the log later."""
    before = LogReader(log)
    with LogWriter(log) as writer:
        writer.append_events([quote(5, 1.0, epoch=2)])
    assert (len(list(before.events())), len(list(LogReader(log).events()))) == (4, 5)


def test_the_catalogue_as_it_was(log: Path) -> None:
    """A catalogue version stays readable: before the replacement, version 1 was still in force."""
    reader = LogReader(log)
    first = [{"entry_broker": "b1", "subscription": "s", "version": 1, "from_epoch": 1, "to_epoch": None}]
    second = {"entry_broker": "b1", "subscription": "s", "version": 2, "from_epoch": 2, "to_epoch": None}
    assert reader.in_force(catalogue=1).to_pylist() == first
    assert reader.in_force().to_pylist() == [{**first[0], "to_epoch": 2}, second]
    assert reader.versions(catalogue=1)["id"].to_pylist() == ["s@1"]
    assert reader.in_force(catalogue=0).num_rows == 0
    with pytest.raises(LogError, match="has no catalogue version 3"):
        reader.in_force(catalogue=3)


def test_a_snapshot_is_the_catalogue_compiled(log: Path) -> None:
    """It has the index over all versions in force and the tables that go with it; asking again makes no second."""
    folder = log / "snapshots" / "catalogue=2"
    assert load_index(folder / "index.agx").match({"$type": "Quote", "price": 7}) == ["s@1"]
    with LogWriter(log) as writer:
        assert writer.snapshot().number == 1
    assert sorted(file.name for file in folder.iterdir()) == ["in_force.parquet", "index.agx", "versions.parquet"]


def test_positions_follow_the_time_of_acceptance_over_all_types(log: Path) -> None:
    """Within a commit a broker's events are placed by when it accepted them, whatever their type and order given."""
    plain = Event(id=EventId("p", 1), attributes={"a": 1})
    with LogWriter(log) as writer:
        writer.append_events(
            [
                quote(9, 1.0),
                LoggedEvent(event=plain, accepted_at=after(8), entry_broker="b1", epoch=1),
                quote(7, 1.0),
                quote(6, 1.0, broker="b2", epoch=0),
            ]
        )
    reader = LogReader(log)
    assert reader.event_table("Quote", QUOTE.schema)["position"].to_pylist() == [0, 1, 2, 3, 6, 4, 0]
    [(none, schema), _] = reader.event_types()
    assert (none, reader.event_table(none, schema)["position"].to_pylist()) == (None, [5])
    assert reader.offset()["ev"] == {"b1": 7, "b2": 1}


def test_arrow_columns_are_appended_as_they_are(log: Path) -> None:
    """Columns that most events have in common may be left out; the rest comes back as events."""
    table = pa.table(
        {
            "publisher": ["nyse", "nyse"],
            "sequence": [5, 6],
            "accepted_at": pa.array([after(5), after(6)], pa.timestamp("us", "UTC")),
            "entry_broker": ["b1", "b1"],
            "epoch": [1, 1],
            "symbol": ["IBM", "IBM"],
            "price": [1.0, 2.0],
        }
    )
    with LogWriter(log) as writer:
        writer.append_event_tables([("Quote", table), ("Quote", table.slice(0, 0))])
    back = list(LogReader(log).events())[-2:]
    assert back == [msgspec.structs.replace(quote(n, p), schema=QUOTE.schema) for n, p in ((5, 1.0), (6, 2.0))]


def test_advertising_anew_is_another_folder(log: Path) -> None:
    """Rows of the old version stay as they are, and both are read together."""
    wider = AgventType(name="Quote", attributes=(*QUOTE.attributes, AdvertisedAttribute("volume", "int")))
    with LogWriter(log) as writer:
        writer.append_catalogue(advertisements=[msgspec.structs.replace(QUOTES, type=wider)])
        writer.append_events([quote(5, 1.0, volume=9), msgspec.structs.replace(quote(6, 2.0), schema=QUOTE.schema)])
    reader = LogReader(log)
    assert (prices(log), prices(log, wider.schema)) == ([7.5, 12.0, 7.5, 12.0, 2.0], [1.0])
    assert reader.event_table("Quote", wider.schema)["volume"].to_pylist() == [9]
    assert len(list(reader.events("Quote"))) == 6
    assert reader.offset() == {"ev": {"b1": 6}, "sub": 3}


def test_advertisements_are_rows_and_a_document(log: Path) -> None:
    """The relational and the XML form; what was withdrawn has a row that says so."""
    with LogWriter(log) as writer:
        writer.append_catalogue(withdrawn=[QUOTES])
    reader = LogReader(log)
    types = reader.table("types", columns=["type", "schema", "change", "realm", "xml"]).to_pylist()
    document = (
        f'<advertisement type="Quote" schema="{QUOTE.schema}" publisher="nyse" broker="b1" realm="eu/ankara">'
        '<ancestor>Instrument</ancestor><attribute name="symbol" kind="str"/><attribute name="price" kind="float"/>'
        "</advertisement>"
    )
    common = {"type": "Quote", "schema": QUOTE.schema, "realm": "eu/ankara", "xml": document}
    assert types == [{**common, "change": "advertise"}, {**common, "change": "unadvertise"}]
    assert reader.table("type_attributes", columns=["attribute", "kind", "column"]).to_pylist() == [
        {"attribute": "symbol", "kind": "str", "column": "symbol"},
        {"attribute": "price", "kind": "float", "column": "price"},
    ]


def test_names_of_types_are_folders(tmp_path: Path) -> None:
    """Any name but an empty one: what a path cannot have is percent-encoded."""
    create_log(tmp_path / "log")
    names = ["a/b", "é=%", "42", "..", None]
    with LogWriter(tmp_path / "log") as writer:
        events = [Event(type=name, id=EventId("p", at)) for at, name in enumerate(names)]
        writer.append_events(LoggedEvent(event=e, accepted_at=NOON, entry_broker="b", epoch=0) for e in events)
        for refused in ("", "__HIVE_DEFAULT_PARTITION__", "x" * 300):
            record = LoggedEvent(
                event=Event(type=refused, id=EventId("p", 9)), accepted_at=NOON, entry_broker="b", epoch=0
            )
            with pytest.raises(LogError):
                writer.append_events([record])
    assert [record.event.type for record in LogReader(tmp_path / "log").events()] == names
    assert {path.name for path in (tmp_path / "log" / "events").iterdir()} == {
        "type=a%2Fb",
        "type=%C3%A9%3D%25",
        "type=42",
        "type=..",
        "type=__HIVE_DEFAULT_PARTITION__",
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda log: log.append("orders", []), "the log has no table 'orders'"),
        (lambda log: log.append("changes", []), "changes is not appended to by itself"),
        (lambda log: log.append("gaps", [{"reasn": "quota"}]), "gaps has no column 'reasn'"),
        (lambda log: log.append("gaps", [{"reason": "quota"}]), "the column 'home_broker' has a null in it"),
        (lambda log: log.append("deliveries", [{**delivery(1, 1), "epoch": "x"}]), "a row does not fit deliveries"),
        (lambda log: log.append("deliveries", pa.table({"epoch": ["x"]})), "deliveries needs the column 'publisher'"),
        (lambda log: log.append_events([quote(5, 1.0, epoch=3)]), "an event has epoch 3 of 'b1', which the catalogue"),
        (
            lambda log: log.append_events([msgspec.structs.replace(quote(5, 1.0), quality="slow")]),
            "an event's quality is durable or fast, not 'slow'",
        ),
        (
            lambda log: log.append_events([msgspec.structs.replace(quote(5, 1.0), schema="v0")]),
            "'Quote' with the schema v0 is without an advertisement",
        ),
        (
            lambda log: log.append_catalogue(changes=[change(5, "open", 3)]),
            "changes: the positions of 'b1' are not 4, 5, … without a gap",
        ),
        (
            lambda log: log.append_catalogue(epochs=[epoch(2, 3)]),
            "epochs: the epochs of 'b1' are not 3, 4, … without a gap",
        ),
    ],
)
def test_what_does_not_fit_is_refused_whole(log: Path, call: Any, message: str) -> None:
    """The error names the table and the column, and the log is as it was."""
    with LogWriter(log) as writer:
        heads = dict(writer.heads)
        with pytest.raises(LogError) as caught:
            call(writer)
        assert message in caught.value.message
        assert writer.heads == heads == LogReader(log).heads


def test_one_process_writes_at_a_time(log: Path) -> None:
    """A second writer is refused until the first is closed; readers are not."""
    with LogWriter(log):
        with pytest.raises(LogError, match="another process is writing"):
            LogWriter(log)
        LogReader(log)
    LogWriter(log).close()


def test_what_is_no_log(tmp_path: Path) -> None:
    """A folder without log.json, one of another format, and a folder that is in use already."""
    with pytest.raises(LogFileError, match="is not an event log"):
        LogReader(tmp_path)
    small_log(tmp_path / "log")
    with pytest.raises(LogError, match="is not empty"):
        create_log(tmp_path / "log")
    (tmp_path / "log" / "log.json").write_text('{"format": 2}')
    with pytest.raises(LogFileError, match="has format 2, this Agvent reads 1"):
        LogReader(tmp_path / "log")


def test_a_segment_that_cannot_be_read_is_named(log: Path) -> None:
    """A reader that runs into a broken file says which, and how to find all of them."""
    segment = LogReader(log).segments("deliveries")[0]
    (log / segment.path).write_bytes(b"PAR1")
    with pytest.raises(LogFileError, match=segment.path) as caught:
        LogReader(log).table("deliveries")
    assert caught.value.hint == f"agvent log verify {log}"


def test_versions_of_filters_are_kept(log: Path) -> None:
    """The table of subscriptions has every version there ever was."""
    assert LogReader(log).table("subscriptions").to_pylist() == [
        {**dict.fromkeys(LogReader(log).table("subscriptions").column_names), **version(number, text)}
        for number, text in ((1, "price < 10"), (2, "price >= 10"))
    ]
