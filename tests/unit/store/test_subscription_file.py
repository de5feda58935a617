"""Reading a file of subscriptions: what a line may say, and where a mistake is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent import Subscription, Subscriptions
from agvent.errors import SubscriptionError
from agvent.store.line_chunks import open_input
from agvent.store.subscription_file import Mistake, SubscriptionFile


def read(path: Path, content: str | bytes, language: str = "sql") -> list[Subscription | tuple[int, str | None, str]]:
    """The subscriptions of a file; a mistake as its line, id and message."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with open_input(str(path)) as stream:
        found = list(SubscriptionFile(stream, language=language))
    return [(item.line, item.id, item.error.message) if isinstance(item, Mistake) else item for item in found]


def load(path: Path, content: str) -> tuple[Subscriptions, str]:
    """An index of a file, and the error that came of loading it."""
    path.write_text(content)
    index = Subscriptions()
    with open_input(str(path)) as stream, pytest.raises(SubscriptionError) as caught:
        SubscriptionFile(stream, language="sql").load_into(index, "FILE")
    return index, caught.value.message


def test_every_key_is_read_and_others_are_ignored(tmp_path: Path) -> None:
    """A line has the subscription's own keys; what else is there is nobody's business here."""
    line = (
        '{"id": "a", "language": "tags", "filter": "x=1", "type": "T", "topic": "t", "context": {"f": 3}, "note": 1}\n'
        '{"id": "b", "pattern": "t/#"}\r\n'
        '{"id": "c", "channel": 42, "filter": null}'
    )
    assert read(tmp_path / "f", line) == [
        Subscription(id="a", language="tags", filter="x=1", type="T", topic="t", context={"f": 3}),
        Subscription(id="b", pattern="t/#"),
        (3, None, "filter must be a text, not None"),
    ]


def test_the_default_language_is_for_lines_that_name_none(tmp_path: Path) -> None:
    """A line's own language wins."""
    lines = '{"id": "a", "filter": "x=1"}\n{"id": "b", "filter": "x = 1", "language": "sql"}\n'
    assert read(tmp_path / "f", lines, language="tags") == [
        Subscription(id="a", language="tags", filter="x=1"),
        Subscription(id="b", filter="x = 1"),
    ]


def test_empty_lines_have_numbers_and_nothing_else(tmp_path: Path) -> None:
    """A mistake after empty lines is on the line an editor shows."""
    assert read(tmp_path / "f", '\n  \r\n{"id": "a"}\n\nx') == [
        Subscription(id="a"),
        (5, None, "JSON is malformed: invalid character (byte 0)"),
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"[1]", "a subscription is an object, not [1]"),
        (b"{}", "the subscription has no id"),
        (b'{"id": ""}', "id must be a text that is not empty, not ''"),
        (b'{"id": "a", "topic": "t", "channel": 1}', "topic and channel are given together"),
        (b'{"id": "\xff"}', "byte 8 is not UTF-8"),
        (b'{"id": "a", "type": 5}', "type must be the name of a type, not 5"),
    ],
)
def test_a_line_that_is_no_subscription(tmp_path: Path, line: bytes, message: str) -> None:
    """Each mistake in a line has its own words."""
    assert read(tmp_path / "f", line) == [(1, None, message)]


def test_a_taken_id_names_both_lines(tmp_path: Path) -> None:
    """Ids are unique; the second line is the mistake, and says where the first is."""
    assert read(tmp_path / "f", '{"id": "a"}\n\n{"id": "a", "filter": "x = 1"}') == [
        Subscription(id="a"),
        (3, "a", "the id 'a' is taken by line 1"),
    ]


def test_the_first_mistake_is_the_one_reported(tmp_path: Path) -> None:
    """A filter that cannot be read comes before a later line that is no JSON, though it is found after it."""
    index, message = load(tmp_path / "f", '{"id": "a", "filter": "x = 1"}\n{"id": "b", "filter": "x ="}\nnot json\n')
    assert message.startswith("FILE line 2: in the filter of 'b', line 1, column 4: ")
    assert len(index) == 0


def test_a_mistake_in_a_pattern_names_its_line(tmp_path: Path) -> None:
    """Topics and patterns are read like filters, and a number too large for one is a mistake as well."""
    assert load(tmp_path / "f", '{"id": "a", "pattern": "x/#/y"}')[1].startswith("FILE line 1: in the filter of 'a', ")
    assert load(tmp_path / "f", '{"id": "a", "topic": 99999999999999999999}')[1].startswith("FILE line 1: topic: ")
