"""The common XPath as rows of primitives on values of the document: what an index can look up without libxml2.

`/menu/softdrinks[brand = 'X' and price > 1.80]` is about one sort of element, its *context*, and values below it. A
comparison of XPath asks whether some node fits, so over all elements of a context it asks for one brand among the
brands, or whether the highest price is above 1.80. Terms, all below `$xml`:

- (mode, context) is there if the document has an element of the context; (mode, context, value) holds the texts and the
  numbers of a value, each a list; (…, MOST) and (…, LEAST) are the largest and the smallest number;
- (ALONE, context) is there if it has one element of the context only.

One comparison alone is decided so. Several have to hold at one element: they are decided where it is ALONE. What a
predicate says otherwise narrows nothing, and libxml2 confirms. The mode says what became of a document:

| mode | a context has values in it | for a filter of |
|---|---|---|
| EACH | if the document is small | one comparison; more, if ALONE |
| SEVERAL | if it is large, or has several elements of the context | several comparisons, confirmed |
| LARGE | if it is large | one comparison, confirmed |

Small is so small that no decided XPath exceeds the bound on its work: the oracle would not leave it unanswered.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cache
from typing import Any, Final, NamedTuple

from lxml import etree

from agvent import limits
from agvent.event import Kind
from agvent.filters.normal import Opaque, Primitive, Row, Rows
from agvent.filters.primitives import Has, Present, Range
from agvent.filters.tree import Attribute, Literal, XPath
from agvent.filters.xpath import expression_of
from agvent.filters.xpath_cost import steps, work_of
from agvent.filters.xpath_tree import (
    DESCEND,
    ROOT,
    SELF,
    Binary,
    Expression,
    LocationPath,
    LocationStep,
    NameTest,
    Number,
    Text,
    XPathJoined,
)

XML: Final = "$xml"
EACH, SEVERAL, LARGE, ALONE = "each", "several", "large", "alone"
MOST, LEAST = "most", "least"
CHILD, DESCENDANT = "/", "//"
FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
ALTERNATIVES_MAX: Final = limits.DISJUNCTS_MAX // 2
"""Each is two rows: one decides, the other is confirmed."""
ROOT_ELEMENT: Final = LocationStep("child", NameTest(None, "*"))
XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"


class ValueTest(NamedTuple):
    """What a filter asks of one value below its context: `op` is one of = < <= > >= and `literal` what it is compared
    with; without `op`, whether it is there. The value "" is the element of the context itself."""

    context: str
    value: str
    op: str = ""
    literal: str | float = ""


class Narrowed(NamedTuple):
    """Alternatives of things asked, one of which holds if the XPath does. If they are `whole`, it then does, given that
    the context is alone, or whatever the document has if they are `single`."""

    alternatives: tuple[tuple[ValueTest, ...], ...]
    whole: bool
    single: bool


UNKNOWN: Final = Narrowed(((),), whole=False, single=True)
"""Nothing is known: every document may fit."""


def rows_of(node: XPath) -> Rows:
    """Rows that accept a document exactly if the XPath is true of it; those with an Opaque part go to the oracle."""
    expression = expression_of(node)
    found = _Reader(dict(node.namespaces)).expression(expression)
    opaque = Opaque(node, True)
    if () in found.alternatives:
        return ((Present(Attribute((XML,))), opaque),)
    bounded = steps(work_of(expression), limits.XML_SMALL_SIZE_MAX, limits.XML_DEPTH_MAX + 3) <= limits.XPATH_WORK_MAX
    several = not found.single and any(len({part.context for part in one}) > 1 for one in found.alternatives)
    if not (found.whole and bounded) or several:
        return tuple((*_row(one, mode), opaque) for mode in (EACH, LARGE) for one in found.alternatives)
    asked = LARGE if found.single else SEVERAL
    decided = tuple((*_row(one, EACH), *(() if found.single else _alone(one))) for one in found.alternatives)
    return decided + tuple((*_row(one, asked), opaque) for one in found.alternatives)


def _row(asked: Iterable[ValueTest], mode: str) -> Row:
    return tuple(_primitive(one, mode) for one in dict.fromkeys(asked))


def _alone(asked: Iterable[ValueTest]) -> Row:
    return tuple(Present(Attribute((XML, ALONE, context))) for context in dict.fromkeys(one.context for one in asked))


def _primitive(asked: ValueTest, mode: str) -> Primitive:
    context, value, op, literal = asked
    term = Attribute((XML, mode, context, value) if value else (XML, mode, context))
    if not op:
        return Present(term)
    if op == "=":
        return Has(term, Literal(literal))
    is_open = len(op) == 1
    if op[0] == ">":
        return Range(Attribute((*term.path, MOST)), Kind.NUMBER, low=literal, low_open=is_open)
    return Range(Attribute((*term.path, LEAST)), Kind.NUMBER, high=literal, high_open=is_open)


class _Reader:
    def __init__(self, namespaces: dict[str, str]) -> None:
        self.namespaces = namespaces

    def expression(self, node: Expression) -> Narrowed:
        """A whole XPath: a path, a path compared with a literal, or several of those joined."""
        match node:
            case LocationPath(start, path) if path and start in (None, ROOT):
                return self.path(path if start is not None else (ROOT_ELEMENT, *path))
            case Binary(op, LocationPath() as left, (Number() | Text()) as right) if left.steps:
                return self.expression(_compared(left, op, right))
            case Binary(op, (Number() | Text()) as left, LocationPath() as right) if op in FLIPPED and right.steps:
                return self.expression(_compared(right, FLIPPED[op], left))
            case XPathJoined("or" | "|", parts):
                return _any([self.expression(part) for part in parts])
            case XPathJoined(_, parts):
                found = [self.expression(part) for part in parts]
                return _all(found)._replace(single=all(part.single for part in found))
            case _:
                return UNKNOWN

    def path(self, path: tuple[LocationStep, ...]) -> Narrowed:
        """The context is the path up to its first predicate, or up to its attribute."""
        last = next((at for at, step in enumerate(path) if step.predicates), len(path) - 1)
        while last >= 0 and (path[last].axis == "attribute" or path[last].test == SELF.test):
            last -= 1
        context = self.location(path[: last + 1])
        if not context:
            return UNKNOWN
        parts = [self.predicate(one, context, ()) for one in path[last].predicates]
        if last + 1 < len(path):
            parts.append(self.below(context, path[last + 1 :]))
        if not parts:
            return _one(ValueTest(context, ""))
        found = _all(parts)  # where nothing is known of an element, it still has to be there
        return found._replace(alternatives=tuple(one or (ValueTest(context, ""),) for one in found.alternatives))

    def location(self, path: tuple[LocationStep, ...]) -> str:
        """Child and descendant steps by name, as text: `/menu//price`. Empty if there are others."""
        text, axis = "", CHILD
        for step in path:
            if step == SELF:
                continue
            if step == DESCEND:
                axis = DESCENDANT
                continue
            tag = self.tag(step)
            if step.axis not in ("child", "descendant") or not tag:
                return ""
            text += (DESCENDANT if step.axis == "descendant" else axis) + tag
            axis = CHILD
        return text if axis == CHILD else ""

    def below(self, context: str, path: tuple[LocationStep, ...]) -> Narrowed:
        """A path below the context. Predicates of its last step are about that value: more than one thing asked of it
        would have to hold at one node."""
        value = self.value(path)
        if not value:
            return UNKNOWN
        parts = [self.predicate(one, context, path) for one in path[-1].predicates]
        if not parts:
            return _one(ValueTest(context, value))
        found = _all(parts)
        return found._replace(whole=found.whole and found.single)

    def value(self, path: tuple[LocationStep, ...]) -> str:
        """Child steps by name, and perhaps an attribute, as text: `price`, `order/@id`, `.`. Empty if there are
        others."""
        names: list[str] = []
        path = tuple(step for step in path if step != SELF)
        for at, step in enumerate(path):
            last = at == len(path) - 1
            tag = self.tag(step)
            if tag in ("", "*") or step.axis not in ("child", "attribute"):
                return ""
            if not last and (step.predicates or step.axis == "attribute"):
                return ""
            names.append(("@" if step.axis == "attribute" else "") + tag)
        return "\n".join(names) or "."

    def tag(self, step: LocationStep) -> str:
        """A name as lxml has it, `{urn:menu}price`; `*` is any element. Empty if the step is not by name."""
        test = step.test
        if not isinstance(test, NameTest) or (test.local == "*" and test.prefix is not None):
            return ""
        if test.prefix is None:
            return test.local
        uri = XML_NAMESPACE if test.prefix == "xml" else self.namespaces[test.prefix]
        return f"{{{uri}}}{test.local}"

    def predicate(self, node: Expression, context: str, at: tuple[LocationStep, ...]) -> Narrowed:
        """A predicate at a value. A number alone is a position and narrows nothing."""
        match node:
            case XPathJoined("and", parts):
                return _all([self.predicate(part, context, at) for part in parts])
            case XPathJoined("or", parts):
                return _any([self.predicate(part, context, at) for part in parts])
            case LocationPath(None, path):
                return self.asked(context, at, path, "", Text(""))
            case Binary(op, LocationPath(None, path), (Number() | Text()) as right):
                return self.asked(context, at, path, op, right)
            case Binary(op, (Number() | Text()) as left, LocationPath(None, path)) if op in FLIPPED:
                return self.asked(context, at, path, FLIPPED[op], left)
            case _:
                return UNKNOWN

    def asked(
        self, context: str, at: tuple[LocationStep, ...], path: tuple[LocationStep, ...], op: str, right: Number | Text
    ) -> Narrowed:
        if any(step.predicates for step in path):
            return UNKNOWN
        value = self.value((*(LocationStep(step.axis, step.test) for step in at), *path))
        if not value or (op and op not in FLIPPED) or (isinstance(right, Text) and op not in ("", "=")):
            return UNKNOWN
        literal = right.value if isinstance(right, Text) else number_of(right.text)
        if isinstance(literal, float) and not math.isfinite(literal):
            return UNKNOWN
        return _one(ValueTest(context, value, op, literal))


def _compared(path: LocationPath, op: str, literal: Number | Text) -> LocationPath:
    """`/menu/price > 5` is true exactly if `/menu/price[. > 5]` finds a node."""
    *before, last = path.steps
    predicate = Binary(op, LocationPath(None, (SELF,)), literal)
    return LocationPath(path.start, (*before, LocationStep(last.axis, last.test, (*last.predicates, predicate))))


def _one(asked: ValueTest) -> Narrowed:
    return Narrowed(((asked,),), whole=True, single=True)


def _all(parts: list[Narrowed]) -> Narrowed:
    """What holds if all parts do; alternatives that would be too many narrow nothing."""
    out: tuple[tuple[ValueTest, ...], ...] = ((),)
    whole = all(part.whole for part in parts)
    for part in parts:
        if len(out) * len(part.alternatives) > ALTERNATIVES_MAX:
            whole = False
        else:
            out = tuple((*done, *one) for done in out for one in part.alternatives)
    return Narrowed(out, whole, single=len(parts) == 1 and parts[0].single)


def _any(parts: list[Narrowed]) -> Narrowed:
    out = tuple(one for part in parts for one in part.alternatives)
    if len(out) > ALTERNATIVES_MAX:
        return UNKNOWN
    return Narrowed(out, all(part.whole for part in parts), all(part.single for part in parts))


@cache
def _dummy() -> Any:
    return etree.fromstring("<a/>")


def number_of(text: str) -> float:
    """A number as libxml2 reads it in an expression."""
    return float(etree.XPath(text)(_dummy()))
