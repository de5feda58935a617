"""Why a filter did or did not match an event: every part with its outcome and the values it saw."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from agvent.event import TYPES, Event, Kind, event_of, kind_of
from agvent.filters.evaluate import Behaviours, evaluate, value
from agvent.filters.sql_format import quoted, write
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Function,
    IsA,
    Node,
    Not,
    OfType,
    Or,
    TextTest,
    TopicPattern,
    Xor,
    XPath,
    walk,
)
from agvent.filters.xpath_evaluate import excess

MARKS: Final = {True: "✓", False: "✗", None: "?"}
WORDS: Final = {True: "true", False: "false", None: "unknown"}
VALUE_CHARS_MAX: Final = 80
"""Of a value, how much is shown: enough to see what it is."""


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a filter and its outcome: true, false or None for unknown. The result of `explain`.

    >>> from agvent import explain, parse
    >>> found = explain(parse("price < 100 AND symbol = 'IBM'"), {"symbol": "IBM", "price": 120})
    >>> found.outcome, found.reason()
    (False, 'does not match because price < 100 is false: price is 120')
    >>> [(part.text, part.outcome) for part in found.parts]
    [('price < 100', False), ("symbol = 'IBM'", True)]

    A part that is joined by AND, OR, NOT or XOR has `parts`, a test has `values`. `print` shows all of it.
    """

    text: str
    outcome: bool | None
    joined_by: str | None = None
    values: tuple[str, ...] = ()
    parts: tuple[Explanation, ...] = ()

    def __str__(self) -> str:
        return "\n".join((self.reason(), *self._lines(1)))

    def reason(self) -> str:
        """One line: whether it matches, and if not, the first part that is to blame."""
        if self.outcome:
            return "matches"
        part = self._to_blame()
        saw = ", ".join(dict.fromkeys(part._seen()))
        return f"does not match because {part.text} is {WORDS[part.outcome]}" + (f": {saw}" if saw else "")

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data for JSON; outcomes are words."""
        shown: dict[str, Any] = {"text": self.text, "outcome": WORDS[self.outcome]}
        if self.joined_by:
            return {**shown, "joined_by": self.joined_by, "parts": [part.to_dict() for part in self.parts]}
        return {**shown, "values": list(self.values)}

    def _to_blame(self) -> Explanation:
        """A conjunction fails by one part; everything else fails as a whole."""
        if self.joined_by != "AND":
            return self
        return next(part for part in self.parts if part.outcome is self.outcome)._to_blame()

    def _seen(self) -> Iterator[str]:
        yield from self.values
        for part in self.parts:
            yield from part._seen()

    def _lines(self, depth: int) -> Iterator[str]:
        head = f"{'  ' * depth}{MARKS[self.outcome]} "
        if self.joined_by is None:
            yield head + self.text + (f"   ({', '.join(self.values)})" if self.values else "")
            return
        yield f"{head}{self.joined_by} is {WORDS[self.outcome]}"
        for part in self.parts:
            yield from part._lines(depth + 1)


def explain(
    condition: Condition, event: Event | Mapping[str, Any], behaviours: Behaviours | None = None
) -> Explanation:
    """What each part of the condition says of the event.

    >>> from agvent.filters.languages import parse
    >>> print(explain(parse("symbol = 'ACME' AND price > 100"), {"symbol": "ACME", "price": 12.5}))
    does not match because price > 100 is false: price is 12.5
      ✗ AND is false
        ✓ symbol = 'ACME'   (symbol is 'ACME')
        ✗ price > 100   (price is 12.5)
    """
    return _explained(condition, event_of(event), behaviours)


def _explained(node: Condition, event: Event, behaviours: Behaviours | None) -> Explanation:
    text, outcome = described(node), evaluate(node, event, behaviours)
    if not isinstance(node, (And, Or, Not, Xor)):
        return Explanation(text=text, outcome=outcome, values=_values(node, event, behaviours))
    below = (node.part,) if isinstance(node, Not) else node.parts
    return Explanation(
        text=text,
        outcome=outcome,
        joined_by=type(node).__name__.upper(),
        parts=tuple(_explained(part, event, behaviours) for part in below),
    )


def described(node: Node) -> str:
    """The node in SQL's words, with words of our own where SQL has none."""
    if isinstance(node, (And, Or, Xor)) and not node.parts:
        return "everything" if isinstance(node, And) else "nothing"
    return write(node, _own_words)


def _own_words(node: Node) -> str:
    match node:
        case IsA(name):
            return f"$type is a {quoted(name)}"
        case XPath(expression, _):
            return f"$xml satisfies {expression}"
        case TopicPattern(operand, pattern):
            return f"{described(operand)} is under {quoted(pattern)}"
        case Compare(op, left, right):
            return described(Compare(op, left, right))
        case OfType(operand, name):
            return f"{described(operand)} is {'there' if name == 'any' else TYPE_WORDS[name]}"
        case TextTest(test, operand, texts):
            return f"{described(operand)} {TEST_WORDS[test]} {' or '.join(map(quoted, texts))}"
        case Xor(parts):
            return " XOR ".join(_grouped(part) for part in parts)
        case Arithmetic(op, left, right):
            return f"{_grouped(left)} {op} {_grouped(right)}"
        case Call(name, args) | Function(name, args):
            return f"{name}({', '.join(map(described, args))})"
        case _:
            return shown(getattr(node, "value", node))


TYPE_WORDS: Final = {
    "int32": "an int32",
    "int64": "an int64",
    "real64": "a real64",
    "string": "a string",
    "opaque": "opaque",
    "nan": "NaN",
}
TEST_WORDS: Final = {
    "begins-with": "begins with",
    "ends-with": "ends with",
    "contains": "contains",
    "wildcard": "is under the wildcard",
    "regex": "matches the expression",
}


def _grouped(node: Node) -> str:
    """A part of what SQL cannot join: in parentheses unless it is one word."""
    text = described(node)
    return f"({text})" if isinstance(node, (And, Or, Xor, Arithmetic)) else text


def _values(node: Condition, event: Event, behaviours: Behaviours | None) -> tuple[str, ...]:
    """What the test saw: its attributes and calls, each once."""
    if isinstance(node, IsA):
        types = event.lookup((TYPES,))
        return (f"$type is {' < '.join(types) if types else 'missing'}",)  # type: ignore[arg-type]
    if isinstance(node, XPath):
        seen_text = "is missing" if event.xml is None else f"is {shown(' '.join(event.xml.split()))}"
        return (f"$xml {excess(node, event) or seen_text}",)
    seen = {part: None for part in walk(node) if isinstance(part, (Attribute, Call))}
    return tuple(f"{described(part)} {_seen_value(part, event, behaviours)}" for part in seen)


def _seen_value(part: Attribute | Call, event: Event, behaviours: Behaviours | None) -> str:
    found = value(part, event, behaviours)
    if found is not None:
        return f"is {shown(found)}"
    if isinstance(part, Call):
        return "has no value"
    return "is missing" if event.lookup(part.path) is None else "is NaN, which is not a value"


def shown(found: object) -> str:
    """A value as SQL writes it where SQL can, cut to a length a line can bear."""
    text = _written(found)
    return text if len(text) <= VALUE_CHARS_MAX else f"{text[:VALUE_CHARS_MAX]}…"


def _written(found: Any) -> str:
    if isinstance(found, bool):
        return str(found).upper()
    if isinstance(found, str):
        return quoted(found)
    if isinstance(found, datetime):
        return f"TIMESTAMP '{found.isoformat()}'"
    if kind_of(found) is Kind.LIST:
        return f"[{', '.join(map(_written, found))}]"
    return repr(found)
