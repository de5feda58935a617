"""A cursor over the tokens of one SQL selector: what may stand here, and the error that says so.

The checks that tell conditions from values live here too, because their errors need the same places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Final, TypeVar

from agvent.errors import CallerError, FilterError
from agvent.filters.functions import FUNCTIONS
from agvent.filters.sql_tokens import END, FOREIGN, PLAIN_NAME, RESERVED, TOKEN, nearest, position_of
from agvent.filters.tree import (
    Arithmetic,
    Attribute,
    Call,
    Condition,
    Expression,
    Function,
    Literal,
    Negative,
    Node,
    Truth,
)

EXPRESSIONS: Final = frozenset((Literal, Attribute, Arithmetic, Negative, Function, Call))
UNORDERED: Final = (str, bool)
KIND_NAMES: Final = {str: "a string", bool: "a boolean", datetime: "a timestamp", int: "a number", float: "a number"}

T = TypeVar("T")


class TokenReader:
    """`at` is the index of the next token; the last token is END."""

    __slots__ = ("at", "known", "text", "tokens")

    def __init__(self, text: str, known: Collection[str] | None) -> None:
        self.text = text
        self.tokens: list[str] = TOKEN.findall(text)
        self.tokens.append(END)
        self.at = 0
        self.known = known

    def expect(self, word: str) -> None:
        token = self.tokens[self.at]
        if token != word and RESERVED.get(token) != word:
            raise self.unexpected(word)
        self.at += 1

    def text_literal(self, expected: str) -> str:
        token = self.tokens[self.at]
        if token[:1] != "'" or token == "'":
            raise self.unexpected(expected)
        self.at += 1
        return token[1:-1].replace("''", "'")

    def condition(self, node: Node, start: int) -> Condition:
        """The node as a condition; a value that can be a boolean stands for its truth."""
        if type(node) not in EXPRESSIONS:
            return node  # type: ignore[return-value]
        if isinstance(node, (Attribute, Call)):
            return Truth(node)
        if isinstance(node, Literal) and isinstance(node.value, bool):
            return Truth(node)
        if isinstance(node, Function) and FUNCTIONS[node.name].is_condition:
            return Truth(node)
        raise self.error(f"expected a condition, found {_described(node)}", start, "compare it with something")

    def value(self, node: Node, start: int) -> Expression:
        if type(node) in EXPRESSIONS:
            return node  # type: ignore[return-value]
        raise self.error("expected a value, found a condition", start, "join conditions with AND and OR")

    def ordered(self, node: Node, start: int) -> Expression:
        """A value that < and > take: JMS has only = and <> for strings and booleans."""
        if type(node) is Literal and type(node.value) in UNORDERED:
            kind = KIND_NAMES[type(node.value)]
            raise self.error(f"{kind} has no order", start, "strings and booleans compare with = and <> only")
        return self.value(node, start)

    def numeric(self, node: Node, start: int) -> Expression:
        value = self.value(node, start)
        if type(value) is Literal and type(value.value) not in (int, float):
            raise self.error(f"expected a number, found {_described(value)}", start, "arithmetic is for numbers")
        return value

    def try_at(self, index: int, read: Callable[[], T]) -> T:
        """What `read` gives, its error told at the place of this token."""
        try:
            return read()
        except CallerError as error:
            raise self.error(error.message, index, error.hint) from None

    def error(self, message: str, index: int, hint: str | None = None) -> FilterError:
        return FilterError(message, self.text, position_of(self.text, index), hint=hint)

    def unexpected(self, expected: str) -> FilterError:
        """The error for the token at the cursor."""
        token = self.tokens[self.at]
        if token == "'":
            return self.error("a string without its closing quote", self.at, "write '' for a quote inside a string")
        if token == '"':
            return self.error("a quoted name without its closing quote", self.at, 'write "" for a quote inside a name')
        found = "the end" if token == END else repr(token)
        return self.error(f"expected {expected}, found {found}", self.at, _hint_for(token))


def _hint_for(token: str) -> str | None:
    if token in FOREIGN:
        return f"SQL writes {FOREIGN[token]}"
    if token in RESERVED:
        return f'{RESERVED[token]} is a reserved word; write "{token}" if it is a name'
    return nearest(token.upper(), set(RESERVED.values())) if PLAIN_NAME.fullmatch(token) else None


def _described(node: Node) -> str:
    if isinstance(node, Literal):
        return KIND_NAMES[type(node.value)]
    return f"the value of {node.name}()" if isinstance(node, (Function, Call)) else "a number"
