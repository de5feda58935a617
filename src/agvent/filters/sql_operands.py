"""What stands between the operators of a SQL selector: literals, names, calls, signs and parentheses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from agvent import limits
from agvent.errors import CallerError
from agvent.event import time_of
from agvent.filters.bounds import too_deep
from agvent.filters.functions import FUNCTIONS, compiled
from agvent.filters.sql_reader import TokenReader
from agvent.filters.sql_tokens import (
    PLAIN_NAME,
    RESERVED,
    SELECTABLE_HEADERS,
    nearest,
    number_of,
    path_of,
    position_of,
)
from agvent.filters.tree import Attribute, Call, Expression, Function, Literal, Negative, Node, Not

OR, AND, COMPARISON, SUM, PRODUCT, UNARY = 1, 2, 3, 4, 5, 6
"""Precedence, loosest first; NOT binds looser than a comparison and tighter than AND."""

READINGS_MAX: Final = 2 * limits.FILTER_DEPTH_MAX
"""Open readings: a tree within its bound needs one for each level and one for each parenthesis around a level."""

ATTRIBUTES_SHARED_MAX: Final = 4_096
"""Attributes that all trees share: a million subscriptions name few."""

_shared: dict[str, Attribute] = {}


class Operands(TokenReader):
    """Each method starts at the token `at` and leaves `at` behind what it read."""

    __slots__ = ("shared",)

    def __init__(self, text: str, known: Collection[str] | None) -> None:
        super().__init__(text, known)
        self.shared = _shared if known is None else {}

    def expression(self, floor: int, depth: int) -> Node:
        raise NotImplementedError

    def check_depth(self, depth: int) -> None:
        if depth > READINGS_MAX:
            raise too_deep(self.text, position_of(self.text, self.at))

    def group(self, _token: str, depth: int) -> Node:
        self.check_depth(depth)
        self.at += 1
        node = self.expression(OR, depth + 1)
        if self.tokens[self.at] != ")":
            raise self.unexpected("an operator or )")
        self.at += 1
        return node

    def sign(self, token: str, depth: int) -> Expression:
        self.check_depth(depth)
        self.at = start = self.at + 1
        following = self.tokens[start]
        if OPERANDS.get(following[:1]) is Operands.number:
            self.at += 1
            return Literal(self.try_at(start, lambda: number_of(following, negative=token == "-")))
        operand = self.numeric(self.expression(UNARY, depth + 1), start)
        return Negative(operand) if token == "-" else operand

    def string(self, _token: str, _depth: int) -> Literal:
        return Literal(self.text_literal("a value"))

    def number(self, token: str, _depth: int) -> Literal:
        self.at += 1
        try:
            return Literal(number_of(token))
        except CallerError as error:
            raise self.error(error.message, self.at - 1, error.hint) from None

    def word(self, token: str, depth: int) -> Node:
        """A keyword, a call, a timestamp or a name."""
        if token in RESERVED:
            return self.keyword(RESERVED[token], depth)
        if not PLAIN_NAME.match(token) and (token[:1] != '"' or token == '"'):
            raise self.unexpected("a value")
        following = self.tokens[self.at + 1]
        if following == "(":
            return self.call(token, depth)
        if following[:1] == "'" and token.upper() == "TIMESTAMP":
            return self.timestamp()
        return self.attribute(token)

    def keyword(self, word: str, depth: int) -> Node:
        if word == "NOT":
            return self.negation(depth)
        if word == "NULL":
            raise self.error("a value cannot be compared with NULL", self.at, "use IS NULL or IS NOT NULL")
        if word not in ("TRUE", "FALSE"):
            raise self.unexpected("a value")
        self.at += 1
        return Literal(word == "TRUE")

    def negation(self, depth: int) -> Node:
        self.check_depth(depth)
        self.at = start = self.at + 1
        return Not(self.condition(self.expression(COMPARISON, depth + 1), start))

    def timestamp(self) -> Literal:
        self.at = start = self.at + 1
        text = self.text_literal("a timestamp in quotes")
        return Literal(self.try_at(start, lambda: time_of(text)))

    def attribute(self, token: str) -> Attribute:
        path = self.try_at(self.at, lambda: path_of(token))
        name = str(path[0])
        if name.startswith("$") and name not in SELECTABLE_HEADERS:
            raise self.error(f"unknown header {name!r}", self.at, nearest(name, SELECTABLE_HEADERS))
        self.check_known(name, token, "attribute")
        self.at += 1
        attribute = Attribute(path)
        if len(self.shared) < ATTRIBUTES_SHARED_MAX and token.upper() != "TIMESTAMP":
            self.shared[token] = attribute
        return attribute

    def check_known(self, name: str, token: str, sort: str) -> None:
        if self.known is not None and not {name, token} & {*self.known, *SELECTABLE_HEADERS}:
            raise self.error(f"unknown {sort} {name!r}", self.at, nearest(name, self.known))

    def call(self, name: str, depth: int) -> Expression:
        start = self.at
        self.check_depth(depth)
        if not PLAIN_NAME.fullmatch(name) or name.startswith("$"):
            raise self.error(f"{name} cannot name a behaviour", start, "a behaviour's name is one plain name")
        if name not in FUNCTIONS:
            self.check_known(name, name, "behaviour or function")
        self.at += 2
        args = self.arguments(depth)
        if name not in FUNCTIONS:
            return Call(name, args)
        self.check_function(name, args, start)
        return Function(name, args)

    def arguments(self, depth: int) -> tuple[Expression, ...]:
        args: list[Expression] = []
        while self.tokens[self.at] != ")" or args:
            start = self.at
            args.append(self.value(self.expression(SUM, depth + 1), start))
            if self.tokens[self.at] != ",":
                break
            self.at += 1
        self.expect(")")
        return tuple(args)

    def check_function(self, name: str, args: tuple[Expression, ...], start: int) -> None:
        arity = FUNCTIONS[name].arity
        if len(args) != arity:
            raise self.error(f"{name}() takes {arity} argument{'s' * (arity > 1)}, found {len(args)}", start)
        if name == "regex":
            pattern = args[1]
            if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
                raise self.error("expected the expression of regex() as a string in quotes", start)
            self.try_at(self.at - 2, lambda: compiled(pattern.value))


OPERANDS: Final[dict[str, Callable[[Operands, str, int], Node]]] = {
    "'": Operands.string,
    "(": Operands.group,
    "+": Operands.sign,
    "-": Operands.sign,
    **dict.fromkeys(".0123456789", Operands.number),
}
"""Who reads a token that begins with this character; `word` reads the others."""
