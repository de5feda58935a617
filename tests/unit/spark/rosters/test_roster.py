"""Rosters: an index with its names and intervals, in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from agvent import Subscription, Subscriptions, load_index, save_index
from agvent.errors import CallerError, IndexFileError
from agvent.spark.rosters.roster import Roster

INTERESTS = [Subscription(id="a", filter="x = 1"), Subscription(id="b", filter="x * 2 > 3")]
INTERVALS: dict[str, list[Any]] = {
    "entry_broker": ["b1", "b2", "b1"],
    "subscription": ["a", "a", "a"],
    "version": [1, 1, 2],
    "from_epoch": [0, 2, 5],
    "to_epoch": [5, 6, None],
}
VERSIONS = [(Subscription(id="a", filter="x = 1"), 1), (Subscription(id="a", filter="x = 2"), 2)]


def test_a_roster_of_an_index_has_its_ids_as_names(tmp_path: Path) -> None:
    """Names are by ordinal, also after subscriptions have gone and come."""
    index = Subscriptions(INTERESTS)
    index.remove("a")
    index.add("c", "x = 9")
    opened = Roster.open(Roster.of(index).save(tmp_path))
    matches = opened.index.match_batch([{"x": 9}])
    names = opened.names.column("subscription").take(pa.array(matches.subscriptions)).to_pylist()
    assert sorted(names) == ["b", "c"]
    assert opened.in_force is None


def test_versions_and_intervals_come_back(tmp_path: Path) -> None:
    """What was saved is mapped again: names, versions, brokers and intervals."""
    made = Roster.of_versions(VERSIONS, pa.table(INTERVALS))
    opened = Roster.open(made.save(tmp_path))
    assert opened.names.to_pylist() == [{"subscription": "a", "version": 1}, {"subscription": "a", "version": 2}]
    assert opened.in_force is not None
    assert made.in_force is not None
    assert opened.in_force.brokers == ["b1", "b2"]
    before, after = made.in_force.intervals._asdict(), opened.in_force.intervals._asdict()
    assert {name: array.tolist() for name, array in before.items()} == {
        name: array.tolist() for name, array in after.items()
    }


def test_the_name_of_the_file_is_its_content(tmp_path: Path) -> None:
    """Equal rosters have one file, different ones two; nothing else is left in the folder."""
    one = Roster.of(Subscriptions(INTERESTS)).save(tmp_path)
    same = Roster.of(Subscriptions(INTERESTS)).save(tmp_path)
    other = Roster.of(Subscriptions(INTERESTS[:1])).save(tmp_path)
    assert one == same != other
    assert sorted(tmp_path.iterdir()) == sorted([one, other])


def test_a_roster_is_a_saved_index_and_a_saved_index_is_a_roster(tmp_path: Path) -> None:
    """Each is opened as the other; a file that is neither is refused."""
    index = Subscriptions(INTERESTS)
    assert load_index(Roster.of(index).save(tmp_path)).match({"x": 1}) == ["a"]
    save_index(index, tmp_path / "index")
    assert Roster.open(tmp_path / "index").names.to_pylist() == [{"subscription": "a"}, {"subscription": "b"}]
    (tmp_path / "neither").write_text("no index")
    with pytest.raises(IndexFileError, match="is not a saved index"):
        Roster.open(tmp_path / "neither")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": [1, 1, 3]}, "an interval names version 3 of 'a', which does not exist"),
        ({"from_epoch": [0, 2, None]}, "an interval has no from_epoch"),
    ],
)
def test_intervals_of_nothing_are_refused(change: dict[str, list[Any]], complaint: str) -> None:
    """An interval of an unknown version, or without a beginning, would silently lose matches."""
    with pytest.raises(CallerError) as caught:
        Roster.of_versions(VERSIONS, pa.table({**INTERVALS, **change}))
    assert caught.value.message == complaint


def test_a_missing_column_of_intervals_is_named() -> None:
    """The error says which, and which are needed."""
    with pytest.raises(CallerError) as caught:
        Roster.of_versions(VERSIONS, pa.table(INTERVALS).drop_columns(["to_epoch"]))
    assert caught.value.message == "the intervals have no column to_epoch"
