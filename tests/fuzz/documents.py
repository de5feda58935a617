"""What must hold of XML documents, of XPaths on them, and of Elvin notifications. lxml is the reference."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from random import Random
from typing import Any, Final

import msgspec
import pyarrow as pa
from lxml import etree

from agvent import limits
from agvent.elvin import ElvinValue, event_of_notification, notification_of
from agvent.errors import AgventError, EventError
from agvent.event import Event, event_of
from agvent.event_json import decode_event
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import parse
from agvent.filters.tree import XPath
from agvent.filters.xpath_cost import steps
from agvent.filters.xpath_evaluate import compiled, excess
from agvent.filters.xpath_tokens import declared
from agvent.matching.encoders.arrow import encode_arrow
from agvent.matching.encoders.json_lines import encode_json
from agvent.matching.subscriptions import Subscriptions
from agvent.xml import document
from tests.columns import dictionary, everything, row_of
from tests.fuzz import corpus
from tests.fuzz.mutation import Mutations
from tests.fuzz.target import refused

SLOTS: Final = everything(("$xml",))
STRINGS: Final = dictionary(["", "<a/>"])
BETWEEN: Final = "\f"
"""Stands between an XPath and a document: no character of either."""

STEP_S: Final = 50e-9
"""CPU time of one step of `filters/xpath_cost.py`: a bound on steps is a bound on time."""

DOCUMENTS: Final = Mutations(corpus.DOCUMENTS, parts=corpus.DOCUMENT_PARTS, brackets=corpus.DOCUMENT_BRACKETS)
XPATHS: Final = Mutations(corpus.FILTERS["xpath"], parts=corpus.PARTS["xpath"], brackets=corpus.BRACKETS["xpath"])


def check_document(text: str) -> bool:
    """Event, JSON line and Arrow column take the same documents, refuse the others in the same words, and take none
    that lxml refuses or that has a DTD; its size and depth are at least what it has of nodes and levels."""
    event, complaint = _outcome(lambda: event_of({"$xml": text}))
    if not _is_text(text):
        assert event is None
        return False
    line = msgspec.json.encode({"$xml": text})
    assert _outcome(lambda: decode_event(line)) == (event, complaint)
    scanned = encode_json(line, SLOTS, STRINGS)
    assert [one.message for one in scanned.rejected] == ([complaint] if complaint is not None else [])
    batch = pa.record_batch({"$xml": [text]})
    columns, in_arrow = _outcome(lambda: encode_arrow(batch, SLOTS, STRINGS))
    assert in_arrow == (None if complaint is None else f"row 0: {complaint}")
    if event is None:
        return False
    assert row_of(columns, 0) == row_of(scanned, 0)
    _assert_measured(text)
    return True


def _outcome(read: Callable[[], Any]) -> tuple[Any, str | None]:
    try:
        return read(), None
    except EventError as error:
        refused(error)
        return None, error.message


def _is_text(text: str) -> bool:
    return not any("\ud800" <= one <= "\udfff" for one in text)


def _reference(text: str) -> Any:
    """The document as lxml reads it with nothing allowed that could fetch or expand."""
    parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False)
    return etree.fromstring(text.encode(), parser)


def _assert_measured(text: str) -> None:
    root = _reference(text)
    assert root.getroottree().docinfo.internalDTD is None
    found = document(text)
    assert etree.tostring(found.root) == etree.tostring(root)
    assert found.size >= root.xpath("count(//node()) + count(//@*)")
    level = deepest = 0
    for action, _ in etree.iterwalk(root, events=("start", "end")):
        level += 1 if action == "start" else -1
        deepest = max(deepest, level)
    assert deepest < found.depth <= limits.XML_DEPTH_MAX + 3


def draw_question(random: Random) -> str:
    """An XPath and a document, of which mostly one is as it should be."""
    which = random.randrange(4)
    asked = random.choice(XPATHS.good) if which == 0 else XPATHS.draw(random)
    given = random.choice(DOCUMENTS.good) if which == 1 else DOCUMENTS.draw(random)
    return f"{asked}{BETWEEN}{given}"


def check_question(text: str) -> bool:
    """An XPath is true or false of a document as lxml says of the text as it was given, and unknown only beyond its
    work bound; the index answers the same."""
    asked, _, given = text.partition(BETWEEN)
    try:
        tree = parse(asked, "xpath")
        event = event_of({"$xml": given})
    except AgventError as error:
        return refused(error)
    assert isinstance(tree, XPath)
    answer = evaluate(tree, event)
    if excess(tree, event) is None:
        assert answer is _answer(asked, tree, given)
    else:
        assert answer is None
    index = Subscriptions()
    index.add("s", asked, language="xpath")
    assert index.match(event) == (["s"] if answer else [])
    return True


def _answer(asked: str, tree: XPath, given: str) -> bool:
    """lxml's own. The root as the only node of a predicate: elsewhere libxml2 knows no position."""
    expression = asked[declared(asked).end :]
    found = _reference(given).xpath(f"boolean(self::node()[boolean({expression})])", namespaces=dict(tree.namespaces))
    assert isinstance(found, bool)
    return found


def work_s(text: str) -> float:
    """The time that the steps of an XPath may take, three times: ours, lxml's and the index's."""
    asked, _, given = text.partition(BETWEEN)
    try:
        tree = parse(asked, "xpath")
        read = document(given)
    except AgventError:
        return 0.0
    assert isinstance(tree, XPath)
    return 3 * STEP_S * min(limits.XPATH_WORK_MAX, steps(compiled(tree)[1], read.size, read.depth))


def check_notification(text: str) -> bool:
    """A notification is refused, or comes back from its event as it was, types and signs included."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of the text, which is no program
            given = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False  # no text of a notification
    if not isinstance(given, dict) or not all(_is_value(value) for value in given.values()):
        return False
    notification = {name: ElvinValue(*value) for name, value in given.items()}
    try:
        event = event_of_notification(notification)
    except AgventError as error:
        return refused(error)
    assert repr(notification_of(event)) == repr(notification)
    _assert_filtered(event)
    return True


def _is_value(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], str)


def _assert_filtered(event: Event) -> None:
    """Every attribute is there for a filter to name."""
    for name in event.attributes:
        escaped = "".join(f"\\{one}" for one in name)
        if name:
            assert evaluate(parse(f"require({escaped})", "elvin"), event) is True
