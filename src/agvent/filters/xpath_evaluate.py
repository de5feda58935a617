"""What an XPath says of an event's XML: libxml2's answer, where it costs no more than its bound."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from lxml import etree

from agvent import limits
from agvent.event import Event
from agvent.filters.tree import Condition, XPath, walk
from agvent.filters.xpath import expression_of
from agvent.filters.xpath_cost import Work, steps, work_of
from agvent.xml import Document, document

DEPTH_MAX: Final = limits.XML_DEPTH_MAX + 3


def holds(condition: XPath, event: Event) -> bool | None:
    """XPath's boolean() of the expression, from the root element; unknown without XML, or if it could cost too much."""
    if event.xml is None:
        return None
    query, work = compiled(condition)
    read = document(event.xml)
    return None if _steps(work, read) > limits.XPATH_WORK_MAX else bool(query(read.root))


def excess(condition: XPath, event: Event) -> str | None:
    """Why the event's XML was not put to the expression, if that is so."""
    if event.xml is None:
        return None
    read = document(event.xml)
    needed = _steps(compiled(condition)[1], read)
    if needed <= limits.XPATH_WORK_MAX:
        return None
    return (
        f"may need {needed:.0e} steps (size {read.size:,}, depth {read.depth}), "
        f"at most {limits.XPATH_WORK_MAX:.0e} are made"
    )


def excesses(condition: Condition, event: Event) -> list[str]:
    """The same for every XPath of a condition."""
    found = ((node, excess(node, event)) for node in _xpaths(condition))
    return [f"{node.expression} {reason}" for node, reason in found if reason]


@lru_cache(limits.CONDITIONS_KEPT_MAX)
def _xpaths(condition: Condition) -> tuple[XPath, ...]:
    return tuple(node for node in walk(condition) if isinstance(node, XPath))


def _steps(work: Work, read: Document) -> int:
    """The depth is only counted where the deepest there can be would be too much."""
    needed = steps(work, read.size, min(read.size, DEPTH_MAX))
    return needed if needed <= limits.XPATH_WORK_MAX else steps(work, read.size, read.depth)


@lru_cache(limits.XPATH_COMPILED_MAX)
def compiled(condition: XPath) -> tuple[Any, Work]:
    """The expression as libxml2 runs it, and the bound of its work."""
    expression = f"boolean({condition.expression})"
    if "last(" in expression or "position(" in expression:
        expression = f"boolean(self::node()[{expression}])"  # outside a predicate libxml2 has no position
    query = etree.XPath(expression, namespaces=dict(condition.namespaces), regexp=False, smart_strings=False)
    return query, work_of(expression_of(condition))
