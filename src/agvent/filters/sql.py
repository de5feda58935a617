"""The SQL-92 selector of JMS 1.1 §3.8.1.1, read by precedence climbing into the tree.

A node is a condition or a value, and each operator checks that it has the one it needs. `depth` counts the readings
that are open. Cost: a token's text is looked up and never taken apart, unless it is a literal or a name not yet seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from agvent import limits
from agvent.filters.bounds import check_text, check_tree
from agvent.filters.patterns import like_tokens
from agvent.filters.sql_operands import AND, COMPARISON, OPERANDS, OR, PRODUCT, SUM, UNARY, Operands
from agvent.filters.sql_tokens import END, RESERVED, spellings
from agvent.filters.tree import (
    EVERYTHING,
    And,
    Arithmetic,
    Compare,
    Condition,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
)


def parse_sql(text: str, known: Collection[str] | None = None) -> Condition:
    """The tree of a selector; a name that is not in `known`, where that is given, is an error."""
    check_text(text)
    parser = SqlParser(text.rstrip(), known)
    count = len(parser.tokens)
    if count == 1:
        return EVERYTHING
    tree = parser.whole()
    if count > limits.FILTER_DEPTH_MAX:  # each level and each predicate takes a token at least
        check_tree(tree, text)
    return tree


class SqlParser(Operands):
    """The operators: each method has read what stands left, and `at` is on the operator."""

    __slots__ = ()

    def whole(self) -> Condition:
        node = self.expression(OR, 0)
        if self.tokens[self.at] != END:
            raise self.unexpected("an operator or the end")
        return self.condition(node, 0)

    def expression(self, floor: int, depth: int) -> Node:
        """A node whose operators bind at least as tightly as the floor."""
        tokens = self.tokens
        start = self.at
        token = tokens[start]
        left: Node | None = self.shared.get(token)
        if left is not None and tokens[start + 1] != "(":
            self.at = start + 1
        else:
            left = OPERANDS.get(token[:1], Operands.word)(self, token, depth)
        while (operator := OPERATORS.get(tokens[self.at])) and operator[0] >= floor:
            left = operator[1](self, left, start, depth + 1)
        return left

    def disjunction(self, left: Node, start: int, depth: int) -> Condition:
        parts = list(left.parts) if type(left) is Or else [self.condition(left, start)]
        while RESERVED.get(self.tokens[self.at]) == "OR":
            self.at = start = self.at + 1
            node = self.expression(AND, depth)
            parts += node.parts if type(node) is Or else (self.condition(node, start),)
        return Or(tuple(parts))

    def conjunction(self, left: Node, start: int, depth: int) -> Condition:
        parts = list(left.parts) if type(left) is And else [self.condition(left, start)]
        while RESERVED.get(self.tokens[self.at]) == "AND":
            self.at = start = self.at + 1
            node = self.expression(COMPARISON, depth)
            parts += node.parts if type(node) is And else (self.condition(node, start),)
        return And(tuple(parts))

    def equality(self, left: Node, start: int, depth: int) -> Condition:
        at = self.at
        self.at = at + 1
        right = self.expression(SUM, depth)
        return Compare(self.tokens[at], self.value(left, start), self.value(right, at + 1))

    def ordering(self, left: Node, start: int, depth: int) -> Condition:
        at = self.at
        self.at = at + 1
        right = self.expression(SUM, depth)
        return Compare(self.tokens[at], self.ordered(left, start), self.ordered(right, at + 1))

    def between(self, left: Node, start: int, depth: int) -> Condition:
        operand = self.ordered(left, start)
        self.at = start = self.at + 1
        low = self.ordered(self.expression(SUM, depth), start)
        self.expect("AND")
        start = self.at
        high = self.ordered(self.expression(SUM, depth), start)
        return And((Compare(">=", operand, low), Compare("<=", operand, high)))

    def membership(self, left: Node, start: int, depth: int) -> Condition:
        self.at += 1
        self.expect("(")
        members = [self.member(depth)]
        while self.tokens[self.at] == ",":
            self.at += 1
            members.append(self.member(depth))
        self.expect(")")
        return In(self.value(left, start), tuple(members))

    def member(self, depth: int) -> Literal:
        start = self.at
        if self.tokens[start] == ")":
            raise self.unexpected("a literal")
        node = self.expression(UNARY, depth)
        if not isinstance(node, Literal):
            raise self.error("expected a literal", start, "IN takes strings, numbers, booleans and timestamps")
        return node

    def like(self, left: Node, start: int, _depth: int) -> Condition:
        self.at = at = self.at + 1
        pattern = self.text_literal("a pattern in quotes")
        if RESERVED.get(self.tokens[self.at]) != "ESCAPE":
            if len(pattern) > limits.PATTERN_PART_CHARS_MAX:
                self.try_at(at, lambda: like_tokens(pattern))
            return Like(self.value(left, start), pattern)
        self.at += 1
        escape = self.text_literal("one character in quotes")
        if len(escape) != 1:
            raise self.error("expected one character after ESCAPE", self.at - 1)
        self.try_at(at, lambda: like_tokens(pattern, escape))
        return Like(self.value(left, start), pattern, escape)

    def nullness(self, left: Node, start: int, _depth: int) -> Condition:
        self.at += 1
        negated = RESERVED.get(self.tokens[self.at]) == "NOT"
        self.at += negated
        if RESERVED.get(self.tokens[self.at]) != "NULL":
            raise self.unexpected("NULL" if negated else "NULL or NOT NULL")
        self.at += 1
        condition = IsNull(self.value(left, start))
        return Not(condition) if negated else condition

    def negated(self, left: Node, start: int, depth: int) -> Condition:
        """NOT after an operand."""
        self.at += 1
        read = NEGATED.get(RESERVED.get(self.tokens[self.at], ""))
        if not read:
            raise self.unexpected("BETWEEN, LIKE or IN after NOT")
        return Not(read(self, left, start, depth))

    def sum(self, left: Node, start: int, depth: int) -> Expression:
        return self.arithmetic(left, start, depth, SUM)

    def product(self, left: Node, start: int, depth: int) -> Expression:
        return self.arithmetic(left, start, depth, PRODUCT)

    def arithmetic(self, left: Node, start: int, depth: int, level: int) -> Expression:
        result = self.numeric(left, start)
        while (op := self.tokens[self.at]) in ARITHMETIC[level]:
            self.check_depth(depth)
            self.at = start = self.at + 1
            result = Arithmetic(op, result, self.numeric(self.expression(level + 1, depth), start))
            depth += 1  # the next operator puts all of this one level deeper
        return result


Read = Callable[[SqlParser, Node, int, int], Node]
ReadCondition = Callable[[SqlParser, Node, int, int], Condition]

ARITHMETIC: Final = {SUM: ("+", "-"), PRODUCT: ("*", "/")}
NEGATED: Final[dict[str, ReadCondition]] = {
    "BETWEEN": SqlParser.between,
    "LIKE": SqlParser.like,
    "IN": SqlParser.membership,
}
OPERATORS: Final[dict[str, tuple[int, Read]]] = {
    **dict.fromkeys(spellings("OR"), (OR, SqlParser.disjunction)),
    **dict.fromkeys(spellings("AND"), (AND, SqlParser.conjunction)),
    **dict.fromkeys(("=", "<>"), (COMPARISON, SqlParser.equality)),
    **dict.fromkeys(("<", "<=", ">", ">="), (COMPARISON, SqlParser.ordering)),
    **dict.fromkeys(spellings("BETWEEN"), (COMPARISON, SqlParser.between)),
    **dict.fromkeys(spellings("LIKE"), (COMPARISON, SqlParser.like)),
    **dict.fromkeys(spellings("IN"), (COMPARISON, SqlParser.membership)),
    **dict.fromkeys(spellings("IS"), (COMPARISON, SqlParser.nullness)),
    **dict.fromkeys(spellings("NOT"), (COMPARISON, SqlParser.negated)),
    **dict.fromkeys(ARITHMETIC[SUM], (SUM, SqlParser.sum)),
    **dict.fromkeys(ARITHMETIC[PRODUCT], (PRODUCT, SqlParser.product)),
}
"""How tightly a token binds, and who reads on from it."""
