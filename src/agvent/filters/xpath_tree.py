"""XPath 1.0 as a tree: what the parser makes, and its text again.

Abbreviations are written out (`//` is a step along descendant-or-self), and parentheses are gone. `and`, `or` and `|`
join any number of parts; the other operators have two. Every expression's type is known without a document, because
there are no variables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

NODES: Final = "a node-set"
NUMBER: Final = "a number"
STRING: Final = "a string"
BOOLEAN: Final = "a boolean"


class Number(msgspec.Struct, frozen=True, gc=False):
    """A number as it was written: libxml2 rounds in its own way, and is given the same digits."""

    text: str


class Text(msgspec.Struct, frozen=True, gc=False):
    value: str


class XPathCall(msgspec.Struct, frozen=True, gc=False):
    name: str
    args: tuple[Expression, ...]


class XPathNegative(msgspec.Struct, frozen=True, gc=False):
    operand: Expression


class Binary(msgspec.Struct, frozen=True, gc=False):
    """`= != < <= > >= + - * div mod`"""

    op: str
    left: Expression
    right: Expression


class XPathJoined(msgspec.Struct, frozen=True, gc=False):
    """Two or more parts joined by `and`, `or` or `|`."""

    op: str
    parts: tuple[Expression, ...]


class NameTest(msgspec.Struct, frozen=True, gc=False):
    """`*`, `name`, `prefix:name` or `prefix:*`."""

    prefix: str | None
    local: str


class KindTest(msgspec.Struct, frozen=True, gc=False):
    """`node()`, `text()`, `comment()` or `processing-instruction('target')`."""

    kind: str
    target: str | None = None


class LocationStep(msgspec.Struct, frozen=True, gc=False):
    axis: str
    test: NameTest | KindTest
    predicates: tuple[Expression, ...] = ()


class Root(msgspec.Struct, frozen=True, gc=False):
    """Where an absolute path starts."""


class LocationPath(msgspec.Struct, frozen=True, gc=False):
    """Steps from the context node (start None), from the document, or from the nodes of an expression."""

    start: Root | Expression | None
    steps: tuple[LocationStep, ...]


class Filtered(msgspec.Struct, frozen=True, gc=False):
    """The nodes of an expression that pass predicates: `(//price)[1]`."""

    primary: Expression
    predicates: tuple[Expression, ...]


Expression = Number | Text | XPathCall | XPathNegative | Binary | XPathJoined | LocationPath | Filtered
Node = Expression | LocationStep

ROOT: Final = Root()
ANY_NODE: Final = KindTest("node")
DESCEND: Final = LocationStep("descendant-or-self", ANY_NODE)
SELF: Final = LocationStep("self", ANY_NODE)
PARENT: Final = LocationStep("parent", ANY_NODE)

OR, AND, EQUALITY, RELATION, SUM, PRODUCT, UNARY, UNION, PRIMARY = range(1, 10)
PRECEDENCE: Final = {
    "or": OR,
    "and": AND,
    **dict.fromkeys(("=", "!="), EQUALITY),
    **dict.fromkeys(("<", "<=", ">", ">="), RELATION),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "div", "mod"), PRODUCT),
    "|": UNION,
}


class XPathSignature(msgspec.Struct, frozen=True, gc=False):
    """What a function gives and takes; `nodes` tells whether its argument must be a node-set."""

    result: str
    least: int
    most: int
    nodes: bool = False


CONCAT_MAX: Final = 4_096
FUNCTIONS: Final[dict[str, XPathSignature]] = {
    "last": XPathSignature(NUMBER, 0, 0),
    "position": XPathSignature(NUMBER, 0, 0),
    "count": XPathSignature(NUMBER, 1, 1, nodes=True),
    "id": XPathSignature(NODES, 1, 1),
    "local-name": XPathSignature(STRING, 0, 1, nodes=True),
    "namespace-uri": XPathSignature(STRING, 0, 1, nodes=True),
    "name": XPathSignature(STRING, 0, 1, nodes=True),
    "string": XPathSignature(STRING, 0, 1),
    "concat": XPathSignature(STRING, 2, CONCAT_MAX),
    "starts-with": XPathSignature(BOOLEAN, 2, 2),
    "contains": XPathSignature(BOOLEAN, 2, 2),
    "substring-before": XPathSignature(STRING, 2, 2),
    "substring-after": XPathSignature(STRING, 2, 2),
    "substring": XPathSignature(STRING, 2, 3),
    "string-length": XPathSignature(NUMBER, 0, 1),
    "normalize-space": XPathSignature(STRING, 0, 1),
    "translate": XPathSignature(STRING, 3, 3),
    "boolean": XPathSignature(BOOLEAN, 1, 1),
    "not": XPathSignature(BOOLEAN, 1, 1),
    "true": XPathSignature(BOOLEAN, 0, 0),
    "false": XPathSignature(BOOLEAN, 0, 0),
    "lang": XPathSignature(BOOLEAN, 1, 1),
    "number": XPathSignature(NUMBER, 0, 1),
    "sum": XPathSignature(NUMBER, 1, 1, nodes=True),
    "floor": XPathSignature(NUMBER, 1, 1),
    "ceiling": XPathSignature(NUMBER, 1, 1),
    "round": XPathSignature(NUMBER, 1, 1),
}
"""The core library (XPath 1.0 §4)."""


def type_of(node: Expression) -> str:
    """What an expression gives, whatever the document."""
    match node:
        case LocationPath() | Filtered() | XPathJoined("|", _):
            return NODES
        case Number() | XPathNegative():
            return NUMBER
        case Text():
            return STRING
        case XPathCall(name, _):
            return FUNCTIONS[name].result
        case Binary(op, _, _):
            return NUMBER if PRECEDENCE[op] in (SUM, PRODUCT) else BOOLEAN
        case _:
            return BOOLEAN


def children(node: Node) -> tuple[Node, ...]:
    """What stands directly below, left to right."""
    match node:
        case XPathCall(_, args):
            return args
        case XPathNegative(operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case XPathJoined(_, parts):
            return parts
        case LocationStep(_, _, predicates):
            return predicates
        case LocationPath(start, steps):
            return steps if start is None or isinstance(start, Root) else (start, *steps)
        case Filtered(primary, predicates):
            return (primary, *predicates)
        case _:
            return ()


def walk(node: Node) -> Iterator[Node]:
    """Every node, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def write(node: Expression) -> str:
    """The text of an expression, abbreviated where XPath can, with the fewest parentheses that keep its shape."""
    match node:
        case Number(text):
            return text
        case Text(value):
            return quoted(value)
        case XPathCall(name, args):
            return f"{name}({', '.join(map(write, args))})"
        case XPathNegative(operand):
            return f"-{_within(operand, UNARY)}"
        case Binary(op, left, right):
            level = PRECEDENCE[op]
            return f"{_within(left, level)} {op} {_within(right, level + 1)}"
        case XPathJoined(op, parts):
            return f" {op} ".join(_within(part, PRECEDENCE[op] + 1) for part in parts)
        case Filtered(primary, predicates):
            return _primary(primary) + _predicates(predicates)
        case LocationPath(start, steps):
            return _path(start, steps)


def quoted(text: str) -> str:
    """A literal in whichever quotes it does not hold; none holds both."""
    return f"'{text}'" if "'" not in text else f'"{text}"'


def _within(node: Expression, floor: int) -> str:
    """In parentheses if it binds more loosely than the floor, or is a lone `/`, which would swallow what follows."""
    alone = isinstance(node, LocationPath) and node.start == ROOT and not node.steps
    return write(node) if _precedence(node) >= floor and not alone else f"({write(node)})"


def _precedence(node: Expression) -> int:
    match node:
        case Binary(op, _, _) | XPathJoined(op, _):
            return PRECEDENCE[op]
        case XPathNegative():
            return UNARY
        case _:
            return PRIMARY


def _primary(node: Expression) -> str:
    return write(node) if isinstance(node, (Number, Text, XPathCall)) else f"({write(node)})"


def _predicates(predicates: tuple[Expression, ...]) -> str:
    return "".join(f"[{write(one)}]" for one in predicates)


def _path(start: Root | Expression | None, steps: tuple[LocationStep, ...]) -> str:
    text = ""
    if isinstance(start, Filtered):
        text = write(start)
    elif not (start is None or isinstance(start, Root)):
        text = _primary(start)
    slash = "" if start is None else "/"
    if isinstance(start, Root) and not steps:
        return slash
    for position, step in enumerate(steps):
        if step == DESCEND and slash == "/" and position + 1 < len(steps):
            slash = "//"
            continue
        text += slash + _step(step)
        slash = "/"
    return text


def _step(step: LocationStep) -> str:
    if step == SELF:
        return "."
    if step == PARENT:
        return ".."
    axis = {"child": "", "attribute": "@"}.get(step.axis, f"{step.axis}::")
    return axis + _test(step.test) + _predicates(step.predicates)


def _test(test: NameTest | KindTest) -> str:
    if isinstance(test, KindTest):
        return f"{test.kind}({quoted(test.target) if test.target is not None else ''})"
    return test.local if test.prefix is None else f"{test.prefix}:{test.local}"
