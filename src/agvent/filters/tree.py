"""The one expression tree that every filter language parses to.

Expressions have a value (null included); conditions are true, false or unknown, joined by Kleene's three-valued
logic. What a language's own rules add is written into the tree by its parser: `Compare.unlike` is what comparing
values of unlike kinds gives, False in JMS and unknown (None) in Elvin.

Nodes are immutable and hashable, so equal sub-trees can be shared, and form no cycles, so the garbage collector leaves
them alone (a quarter of the time to parse a million filters). `And(())` is always true, `Or(())` never.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from agvent.event import Path, kind_of


class Literal(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A constant. 1, 1.0 and TRUE are three literals, though Python calls them equal."""

    value: Any

    def _key(self) -> tuple[type, Any]:
        return type(self.value), self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


class Attribute(msgspec.Struct, frozen=True, gc=False):
    """The value at a path of the event: `price`, `order.lines[0].price`, `$topic`."""

    path: Path


class Arithmetic(msgspec.Struct, frozen=True, gc=False):
    """`+ - * / %` on numbers, `& | ^ << >> >>>` on integers; `filters/arithmetic.py` says what comes out."""

    op: str
    left: Expression
    right: Expression


class Negative(msgspec.Struct, frozen=True, gc=False):
    operand: Expression


class Function(msgspec.Struct, frozen=True, gc=False):
    """A built-in function; `filters/functions.py` says which there are."""

    name: str
    args: tuple[Expression, ...]


class Call(msgspec.Struct, frozen=True, gc=False):
    """A behaviour of the agvent, evaluated through the interface the caller gives."""

    name: str
    args: tuple[Expression, ...]


class Compare(msgspec.Struct, frozen=True, gc=False):
    """`op` is one of = <> < <= > >=."""

    op: str
    left: Expression
    right: Expression
    unlike: bool | None = False


class In(msgspec.Struct, frozen=True, gc=False):
    """True if the operand equals one of the values (literals of any kind); false if it is of another kind."""

    operand: Expression
    values: tuple[Literal, ...]


class Like(msgspec.Struct, frozen=True, gc=False):
    """SQL's LIKE: `_` is one character, `%` any number, `escape` makes the next one literal."""

    operand: Expression
    pattern: str
    escape: str | None = None


class IsNull(msgspec.Struct, frozen=True, gc=False):
    operand: Expression


class Truth(msgspec.Struct, frozen=True, gc=False):
    """An expression as a condition: a value that is not a bool is neither true nor false."""

    operand: Expression


class OfType(msgspec.Struct, frozen=True, gc=False):
    """Elvin's type predicates: `type` is int32, int64, real64, string, opaque or nan; `any` is `require`.

    Null makes it unknown, so `any` is never false. Only `nan` sees a NaN, and it is unknown of what is no float.
    """

    operand: Expression
    type: str


class TextTest(msgspec.Struct, frozen=True, gc=False):
    """Elvin's string predicates: is the test true of the operand and one of the texts? Unknown if it is no string.

    `test` is begins-with, ends-with, contains, wildcard or regex.
    """

    test: str
    operand: Expression
    texts: tuple[str, ...]


class TopicPattern(msgspec.Struct, frozen=True, gc=False):
    """A topic under a pattern: `+` is one level, a final `#` any number of levels, none included."""

    operand: Expression
    pattern: str


class IsA(msgspec.Struct, frozen=True, gc=False):
    """The event's type, or one of its ancestors, is this type."""

    type: str


class XPath(msgspec.Struct, frozen=True, gc=False):
    """XPath's own boolean() of an expression over the event's XML; the text is canonical (filters/xpath.py)."""

    expression: str
    namespaces: tuple[tuple[str, str], ...] = ()


class Not(msgspec.Struct, frozen=True, gc=False):
    part: Condition


class And(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[Condition, ...]


class Or(msgspec.Struct, frozen=True, gc=False):
    parts: tuple[Condition, ...]


class Xor(msgspec.Struct, frozen=True, gc=False):
    """True if an odd number of the parts is; unknown if one of them is."""

    parts: tuple[Condition, ...]


Expression = Literal | Attribute | Arithmetic | Negative | Function | Call
Condition = Compare | In | Like | IsNull | Truth | OfType | TextTest | TopicPattern | IsA | XPath | Not | And | Or | Xor
Node = Expression | Condition

EVERYTHING = And(())
NOTHING = Or(())


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly below, left to right."""
    match node:
        case Literal() | Attribute() | IsA() | XPath():
            return ()
        case Arithmetic(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Function(_, args) | Call(_, args):
            return args
        case In(operand, values):
            return (operand, *values)
        case And(parts) | Or(parts) | Xor(parts):
            return parts
        case Not(part):
            return (part,)
        case _:
            return (node.operand,)


def walk(node: Node) -> Iterator[Node]:
    """Every node, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def literal(value: Any) -> Literal:
    """A literal of a value that may stand in an event (EventError if it may not)."""
    kind_of(value)
    return Literal(value)
