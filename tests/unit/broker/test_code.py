"""The code that advertisements bring: kept, within a bound, across snapshots."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.records import Owned, decode_record, encode_record
from agvent.broker.tables.tables import Tables
from agvent.types import AgventType
from agvent.wire.broker_messages import Entry


def entry(version: int, program: str, code: bytes, *, live: bool = True, publisher: str = "house") -> Entry:
    return Entry(version, publisher, AgventType(name="Book", program=program), live, code)


def tables(*entries: Entry) -> Tables:
    """The tables of a broker whose neighbour advertised these, one after the other."""
    made = Tables("B1", 1)
    for one in entries:
        made.apply(Owned("B2", 1, one.version, (one,), False))
    made.check()
    return made


def kept(of: Tables) -> list[bytes]:
    return [brought.code for brought in of.code]


def recalled(before: Tables) -> Tables:
    made = Tables("B1", 1)
    for record in before.snapshot():
        made.apply(decode_record(encode_record(record)))
    made.check()
    return made


def test_code_outlives_its_advertisement() -> None:
    """The old program stays beside the new one, and both when the type is gone; also in a snapshot."""
    both = tables(entry(1, "old", b"OLD"), entry(2, "new", b"NEW"))
    assert kept(both) == kept(recalled(both)) == [b"OLD", b"NEW"]
    gone = tables(entry(1, "old", b"OLD"), entry(2, "new", b"NEW"), entry(3, "new", b"", live=False))
    assert kept(gone) == kept(recalled(gone)) == [b"OLD", b"NEW"]


def test_code_of_one_publisher_outlives_that_of_another() -> None:
    """Two clients advertised the same code, and one has withdrawn its type: its agvents run still, after a restart."""
    types = (entry(1, "old", b"OLD"), entry(2, "old", b"OLD", publisher="shop"), entry(3, "old", b"", live=False))
    shared = tables(*types)
    assert {(one.publisher, one.code) for one in recalled(shared).code} == {("house", b"OLD"), ("shop", b"OLD")}


def test_code_said_again_is_kept_once() -> None:
    """Signed with another key, the later stays; whoever counts sees that something came."""
    again = tables(entry(1, "one", b"A"), entry(2, "two", b"B"), entry(3, "one", b"C"))
    assert kept(again) == [b"B", b"C"]
    assert again.code.count == 3


def test_beyond_the_bound_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the newest stays, however large it is."""
    monkeypatch.setattr(limits, "CODE_BYTES_MAX", 1_000)
    three = tables(entry(1, "a", b"a" * 400), entry(2, "b", b"b" * 400), entry(3, "c", b"c" * 400))
    assert kept(three) == [b"b" * 400, b"c" * 400]
    assert kept(tables(entry(1, "a", b"a"), entry(2, "b", b"b" * 1_001))) == [b"b" * 1_001]
    wordy = AgventType(name="Book", program="w", description="w" * 1_000)
    assert kept(tables(entry(1, "a", b"a"), Entry(2, "house", wordy, True, b"w"))) == [b"w"]


def test_whoever_brings_most_loses_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who brings one program after another pushes out none of another publisher's."""
    monkeypatch.setattr(limits, "CODE_BYTES_MAX", 10_000)
    modest = entry(1, "modest", b"m" * 1_000)
    many = [entry(2 + n, f"p{n}", b"%d" % n * 900, publisher="shop") for n in range(12)]
    full = tables(modest, *many)
    assert full.code.type_of("house", "modest") == modest.type
    assert full.code.type_of("shop", "p11") == many[-1].type
    assert full.code.type_of("shop", "p0") is None


def test_each_program_has_the_type_that_it_came_with() -> None:
    """Also when the advertisement names another one now, or is gone; also in a snapshot."""
    both = tables(entry(1, "old", b"OLD"), entry(2, "new", b"NEW"), entry(3, "new", b"", live=False))
    for one in (both, recalled(both)):
        assert one.code.type_of("house", "old") == AgventType(name="Book", program="old")
        assert one.code.type_of("house", "new") == AgventType(name="Book", program="new")
        assert (one.code.type_of("house", "other"), one.code.type_of("shop", "old")) == (None, None)


def test_a_program_that_two_types_share_has_the_type_that_came_last() -> None:
    """Also in a snapshot, where the entries of the two stand in the order in which they first came."""
    book, film = (AgventType(name=name, program="one") for name in ("Book", "Film"))
    found = AgventType(name="Book", program="one", description="found again")
    entries = (
        Entry(1, "house", book, True, b"ONE"),
        Entry(2, "house", film, True, b"ONE"),
        Entry(3, "house", found, True, b"ONE"),
    )
    for count, last in ((2, film), (3, found)):
        shared = tables(*entries[:count])
        assert [one.code.type_of("house", "one") for one in (shared, recalled(shared))] == [last, last]
    gone = tables(*entries[:2], Entry(3, "house", film, False, b""))
    assert [one.code.type_of("house", "one") for one in (gone, recalled(gone))] == [film, film]
