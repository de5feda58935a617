"""The code that advertisements bring: kept, within a bound, across snapshots."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.broker.records import Owned, decode_record, encode_record
from agvent.broker.tables import Tables
from agvent.types import AgventType
from agvent.wire.broker_messages import Entry


def entry(version: int, program: str, code: bytes, *, live: bool = True) -> Entry:
    return Entry(version, "house", AgventType(name="Book", program=program), live, code)


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


def test_code_said_again_is_kept_once() -> None:
    """Signed with another key, the later stays; whoever counts sees that something came."""
    again = tables(entry(1, "one", b"A"), entry(2, "two", b"B"), entry(3, "one", b"C"))
    assert kept(again) == [b"B", b"C"]
    assert again.code.count == 3


def test_beyond_the_bound_the_oldest_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the newest stays, however large it is."""
    monkeypatch.setattr(limits, "CODE_BYTES_MAX", 10)
    three = tables(entry(1, "a", b"aaaa"), entry(2, "b", b"bbbb"), entry(3, "c", b"cccc"))
    assert kept(three) == [b"bbbb", b"cccc"]
    assert kept(tables(entry(1, "a", b"a"), entry(2, "b", b"b" * 11))) == [b"b" * 11]
