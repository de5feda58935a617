"""One target for each parser and decoder: how its inputs are drawn, what must hold of every one, and its bound.

A check gives True where the input was accepted and False where it was refused with an error of our own. Everything else
that comes out of it is a defect, an AssertionError included: then a promise did not hold.
"""

from __future__ import annotations

import atexit
import tempfile
import zlib
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

import msgspec
import numpy as np

from agvent import limits
from agvent.errors import AgventError, EventError
from agvent.event import Event, Int32, event_of
from agvent.event_json import decode_event, decode_line
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import format_filter, parse
from agvent.filters.normal import normal
from agvent.filters.subscription import Subscription, subscription_of
from agvent.filters.translate import translate
from agvent.filters.tree import Condition
from agvent.matching.columns.column_batch import ColumnBatch
from agvent.matching.columns.slots import Slots
from agvent.matching.columns.strings import Strings
from agvent.matching.encoders.events import encode_events
from agvent.matching.encoders.json_lines import encode_json
from agvent.matching.rows.filter_shapes import Instance, Shapes
from agvent.matching.rows.row_store import RowStore
from agvent.matching.subscriptions import Subscriptions
from agvent.store.heads import Head, Segment, checksum, decode_head, encode_head
from agvent.store.index_file import ALIGNMENT, MAGIC, PREFIX, VERSION, load_index, save_index
from agvent.store.values import decode_values, encode_values
from tests.columns import dictionary, everything, row_of
from tests.fuzz import agvents, corpus, wire
from tests.fuzz.documents import (
    DOCUMENTS,
    check_document,
    check_notification,
    check_question,
    draw_question,
    work_s,
)
from tests.fuzz.mutation import BRACKETS, Mutations
from tests.fuzz.target import UNIT_S, Target, refused

# Filters

SAMPLES: Final[tuple[Event, ...]] = tuple(
    event_of(source)
    for source in (
        {"price": 12.5, "city": "Oslo", "name": "it's", "a": 1, "b": "x", "tags": ["a", 2], "open": True},
        {"$topic": "Sports/NBA", "$type": "Book", "$channel": 42, "Make": "Ford", "Model": 1, "n": 2**63 - 1},
        {"$topic": 42, "$channel": "news", "o": {"x": [1]}, "order": {"lines": [{"unit price": 3}]}},
        {"$xml": corpus.DOCUMENTS[0], "user": "alice", "age": Int32(30), "data": b"\0\1", "pay": -2.5, "n": Int32(7)},
        {},
    )
)


def check_filter(language: str, text: str) -> bool:
    """Text to tree, and the tree to text that says the same; what SQL can say of it means the same."""
    try:
        tree = parse(text, language)
    except AgventError as error:
        return refused(error)
    again = format_filter(tree, language)
    assert is_too_long(again) or parse(again, language) == tree, again
    normal(tree)
    meaning = meaning_of(tree)
    if language != "sql":
        try:
            said = format_filter(tree)
        except AgventError as error:
            refused(error)
        else:
            assert is_too_long(said) or meaning_of(parse(said)) == meaning, said
    for other in TRANSLATED.get(language, ()):
        assert_translated(tree, other, [answer is True for answer in meaning])
    return True


TRANSLATED: Final = {"sql": ("elvin",), "elvin": ("sql",), "tags": ("sql", "elvin")}


def assert_translated(tree: Condition, language: str, accepted: list[bool]) -> None:
    """What another language has words for accepts the same events."""
    try:
        text = translate(tree, language)
        again = None if is_too_long(text) else parse(text, language)
    except AgventError as error:
        refused(error)
        return
    assert again is None or [answer is True for answer in meaning_of(again)] == accepted, text


def is_too_long(text: str) -> bool:
    """Blanks and quotes make what is formatted longer, at worst longer than a filter may be."""
    return len(text) > limits.FILTER_CHARS_MAX


def meaning_of(tree: Condition) -> list[bool | None]:
    return [evaluate(tree, event) for event in SAMPLES]


# Shapes

NUMBERED: Final[tuple[Event, ...]] = tuple(
    event_of(dict.fromkeys(("symbol", "price", "volume", "change", "n", "exchange", "a"), value))
    for value in (-1e300, -5, -3, -1, -0.5, 0, 1, 1.5, 2, 3, 5, 7, 8.5, 9.75, 10, 10.5, 50, 99, 990_000, 1e300, "a", "")
)
"""Values on, between and beyond the numbers of the good filters."""


def check_shape(text: str) -> bool:
    """A filter taken by its shape is one that parses, and gives the rows that parsing gives.

    Parsing leaves out what is never true, such as BETWEEN 2 AND 1: then the rows differ, and the answers may not.
    """
    instance = Shapes().read(text)
    if instance is None:
        return False
    tree = parse(text)
    if rows_of(instance) != rows_of(tree):
        index = Subscriptions([Subscription(id="s", filter=text)])
        for event in NUMBERED:
            assert index.match(event) == (["s"] if evaluate(tree, event) else []), event
    return True


def rows_of(prepared: Instance | Condition) -> list[object]:
    """What a filter is in the index, in a store of its own."""
    store = RowStore(Slots(), Strings())
    store.append(0, prepared)
    store.flush()
    return [
        store.rows[: store.row_count].tolist(),
        store.predicates[: store.predicate_count].tolist(),
        store.slots.described(),
        [array.tolist() for array in store.tests],
        [store.strings.view.blob.tobytes(), len(store.strings)],
    ]


# Events and subscriptions as JSON

SLOTS: Final = everything(
    ("a",), ("b",), ("b", "c"), ("b", "c", "a"), ("list",), ("items", 0), ("items", 1, "a"), ("é",),
    ("$type",), ("$topic",), ("$channel",), ("$time",), ("$xml",),
)  # fmt: skip
STRINGS: Final = dictionary(["", "x", "X", "É", "日本", "Book", "Item", "news", "Sports/NBA", b"\0\1\2"])
BLANKS: Final = b" \t\r"


def check_json(data: bytes) -> bool:
    """The scanner and `decode_event` accept and refuse the same lines, and see the same in them to the last bit."""
    batch = encode_json(data, SLOTS, STRINGS)
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    assert len(batch) == len(lines)
    complaints = {one.event: one.message for one in batch.rejected}
    for row, line in enumerate(lines):
        event, complaint = None, None
        if line.strip(BLANKS):
            try:
                event = decode_event(line)
            except EventError as error:
                refused(error)
                complaint = error.message
        assert complaints.get(row) == complaint
        assert bool(batch.live[row]) == (event is not None)
        if event is not None:
            assert_same(batch, row, encode_events([event], SLOTS, STRINGS))
    return not complaints


def assert_same(batch: ColumnBatch, row: int, expected: ColumnBatch) -> None:
    """A row of a batch and an event encoded alone; the cheap comparison first, whole values where it fails."""
    one, other = batch.values[row], expected.values[0]
    nothing = np.isnan(one)
    same = np.array_equal(nothing, np.isnan(other)) and one[~nothing].tobytes() == other[~nothing].tobytes()
    if not same or batch.texts.size or batch.lists.size:
        assert row_of(batch, row) == row_of(expected, 0)


SAVED: Final = msgspec.json.Decoder(Subscription)


def check_subscription(line: bytes) -> bool:
    """A line of a subscriptions file is refused, or is one that has a condition and survives a saved index."""
    try:
        found = subscription_of(decode_line(line))
        found.condition()
    except AgventError as error:
        return refused(error)
    assert SAVED.decode(msgspec.json.encode(found)) == found
    return True


# Saved indexes


class SavedIndex(NamedTuple):
    """A good file in its parts, and what it answers."""

    whole: bytes
    header: bytes
    arrays: bytes
    answers: list[list[str]]
    path: Path


@cache
def saved_index() -> SavedIndex:
    """Made once a process, in a folder of its own that goes with the process."""
    made = Subscriptions()
    for language, filters in corpus.FILTERS.items():
        for number, text in enumerate(filters):
            made.add(Subscription(id=f"{language} {number}", language=language, filter=text), destination=number)
    folder = tempfile.TemporaryDirectory(prefix="agvent-fuzz-")
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "index"
    save_index(made, path)
    whole = path.read_bytes()
    path.unlink()
    size = PREFIX.unpack_from(whole)[2]
    start = padded(PREFIX.size + size)
    answers = [made.match(event) for event in SAMPLES]
    return SavedIndex(whole, whole[PREFIX.size : PREFIX.size + size], whole[start:], answers, path)


def padded(size: int) -> int:
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


@cache
def damages() -> tuple[Mutations[bytes], Mutations[bytes]]:
    """Of the whole file and of its header alone."""
    good = saved_index()
    return Mutations((good.whole,)), Mutations((good.header,))


def draw_saved(random: Random) -> bytes:
    """A damaged file; half have a damaged header with a checksum that is right again."""
    whole, header = damages()
    if random.randrange(2):
        good = saved_index().whole
        given = whole.draw(random)
        return given + good[len(given) :] if random.randrange(2) else given
    return with_header(header.draw(random))


def with_header(text: bytes) -> bytes:
    prefix = PREFIX.pack(MAGIC, VERSION, len(text), zlib.crc32(text)) + text
    return prefix.ljust(padded(len(prefix)), b"\0") + saved_index().arrays


def check_saved(data: bytes) -> bool:
    """A damaged file is refused; one whose damage lies in the padding answers as before.

    A header that was rewritten with its checksum is read, and refused or not, but the index is not asked: a kernel
    trusts what the checksums vouch for.
    """
    good = saved_index()
    good.path.unlink(missing_ok=True)  # a new file each time: the one before may still be mapped
    good.path.write_bytes(data)
    try:
        loaded = load_index(good.path)
    except AgventError as error:
        return refused(error)
    finally:
        good.path.unlink()
    if data[PREFIX.size :].startswith(good.header):
        assert [loaded.match(event) for event in SAMPLES] == good.answers
    return True


# The event log


def check_values(text: str) -> bool:
    """JSON of values is refused, or what it says is written as text that says the same."""
    try:
        found = decode_values(text)
    except AgventError as error:
        return refused(error)
    assert repr(decode_values(encode_values(found))) == repr(found)
    return True


HEAD: Final = encode_head(
    Head(
        stream="events",
        number=3,
        segments=[
            Segment(path="events/a.parquet", since=1, rows=2, bytes=9, crc32="0", ranges={"b1": {"epoch": [1, 2]}}),
        ],
        ends={"b1": 2},
    )
)
HEADS: Final = Mutations((HEAD, HEAD[HEAD.index(b'{"stream') : -1]))


def draw_head(random: Random) -> bytes:
    """A damaged head; half have a checksum that is right again."""
    text = HEADS.draw(random)
    return b'{"crc32":"%s","head":%s}' % (checksum(text).encode(), text) if random.randrange(2) else text


def check_head(data: bytes) -> bool:
    """A head is refused, or comes back from its own bytes."""
    try:
        head = decode_head(data, Path("head"))
    except AgventError as error:
        return refused(error)
    assert decode_head(encode_head(head), Path("head")) == head
    return True


SHARES: Final = {"sql": 16, "elvin": 16, "xpath": 12, "tags": 8}
"""The languages with the most grammar are tried most."""


DENSE_S: Final = 40e-6
"""For each character of an Elvin filter or an XPath: more constructs in as many characters, and parsed once more."""


def mutations(language: str) -> Mutations[str]:
    brackets = corpus.BRACKETS.get(language, BRACKETS)
    return Mutations(corpus.FILTERS[language], parts=corpus.PARTS.get(language, ()), brackets=brackets)


def filter_target(language: str) -> Target:
    unit_s = DENSE_S if language in ("elvin", "xpath") else UNIT_S
    check = partial(check_filter, language)
    return Target(mutations(language).draw, check, unit_s=unit_s, share=SHARES.get(language, 4))


TARGETS: Final[Mapping[str, Target]] = {
    **{language: filter_target(language) for language in corpus.FILTERS},
    "shapes": Target(Mutations((*corpus.SHAPES, *corpus.FILTERS["sql"][:3])).draw, check_shape, share=8),
    "json_lines": Target(Mutations(corpus.EVENTS).draw, check_json, share=16),
    "documents": Target(DOCUMENTS.draw, check_document, share=12),
    "questions": Target(draw_question, check_question, unit_s=DENSE_S, work_s=work_s, share=12),
    "notifications": Target(
        Mutations(corpus.NOTIFICATIONS, parts=corpus.NOTIFICATION_PARTS).draw, check_notification, share=4
    ),
    "subscriptions": Target(Mutations(corpus.SUBSCRIPTIONS).draw, check_subscription, share=12),
    "saved_index": Target(draw_saved, check_saved, share=4),
    "messages": Target(Mutations(wire.GOOD_MESSAGES).draw, wire.check_message, share=12),
    "events": Target(Mutations(wire.GOOD_EVENTS).draw, wire.check_event, share=8),
    "frames": Target(Mutations(wire.GOOD_FRAMES).draw, wire.check_frame, share=12),
    "agvents": Target(Mutations(agvents.GOOD_AGVENTS).draw, agvents.check_agvent, share=8),
    "code": Target(Mutations(agvents.GOOD_CODE).draw, agvents.check_code, share=4),
    "sealed": Target(Mutations(agvents.GOOD_SEALED).draw, agvents.check_sealed, share=4),
    "seal_grants": Target(Mutations(agvents.GOOD_GRANTS).draw, agvents.check_grant, share=4),
    "log_values": Target(Mutations(corpus.VALUES).draw, check_values, share=4),
    "log_head": Target(draw_head, check_head, share=4),
}
