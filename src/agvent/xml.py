"""XML documents: an event's `$xml`, read within bounds, and nothing fetched, expanded or guessed.

A document is refused if it is not well-formed, has a DOCTYPE (entities expand in attributes and string values even
where a parser is told not to resolve them), or is beyond a bound. The text is Unicode already, so an encoding that its
declaration names is not looked at.
"""

from __future__ import annotations

import re
import threading
from functools import cached_property
from typing import Any, Final

from lxml import etree

from agvent import limits
from agvent.errors import EventError

DOCTYPE: Final = re.compile(r"\ufeff?(?:\s|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE", re.DOTALL)
"""A DOCTYPE stands before the first element; the same characters in a comment or CDATA section are none."""

CHARS_PER_NODE: Final = 64
"""Characters that count as one more node in `Document.size`: text costs a query about as much as nodes do."""

LEVELS_ABOVE_AND_BELOW: Final = 2
"""The document above its root; an attribute or a text below the deepest element."""


class Document:
    """A document that was read. `size` bounds its nodes of every kind, and grows with its text."""

    def __init__(self, root: Any, size: int) -> None:
        self.root = root
        self.size = size

    @cached_property
    def depth(self) -> int:
        """Levels of nodes."""
        level = [self.root]
        depth = LEVELS_ABOVE_AND_BELOW
        while level:
            level = [child for element in level for child in element]
            depth += 1
        return depth


class _XmlLocal(threading.local):
    """Each thread has its parser and the document it read last: most are asked for several times in a row."""

    def __init__(self) -> None:
        self.parser = etree.XMLParser(
            encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False
        )
        self.text: str | None = None
        self.document: Document | None = None


_local = _XmlLocal()


def document(text: str) -> Document:
    """The document of a text, or an EventError that says why it is none.

    >>> document("<menu><softdrinks/></menu>").root.tag
    'menu'
    """
    if _local.document is None or _local.text != text:
        _local.document = None
        _local.document = _read(text)
        _local.text = text
    return _local.document


def _read(text: str) -> Document:
    data = text.encode()
    if len(data) > limits.XML_BYTES_MAX:
        raise EventError(f"$xml has {len(data)} bytes, at most {limits.XML_BYTES_MAX} are read")
    tags, values = text.count("<"), text.count("=")
    if tags + values > limits.XML_MARKS_MAX:
        raise EventError(f"$xml has {tags + values} < and = signs, at most {limits.XML_MARKS_MAX} are read")
    if "<!DOCTYPE" in text and DOCTYPE.match(text):
        raise EventError("$xml has a DOCTYPE, which is rejected", hint="write out what its entities stand for")
    try:
        root = etree.fromstring(data, _local.parser)
    except etree.XMLSyntaxError as error:
        raise EventError(_complaint(error)) from None
    elements, texts = tags - text.count("</"), tags
    return Document(root, 1 + elements + texts + values + len(text) // CHARS_PER_NODE)


def _complaint(error: etree.XMLSyntaxError) -> str:
    """The parser's words; those on depth name an option of its own."""
    line, column = error.position
    message = (error.msg or "no document").split(", line ")[0]
    if message.startswith("Excessive depth"):
        message = f"nested deeper than {limits.XML_DEPTH_MAX} levels"
    return f"$xml is not well-formed, line {line}, column {column}: {message}"
