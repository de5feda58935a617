"""Elvin's subscription language (seed 004; the Avis router), read by precedence climbing into the tree.

What is undefined in Elvin is unknown in the tree: comparisons are written with `unlike=None`, string and type
predicates are nodes of their own. There are no booleans, so a value is never a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeVar

from agvent import limits
from agvent.errors import CallerError, FilterError
from agvent.event import Int32
from agvent.filters.arithmetic import BITWISE
from agvent.filters.bounds import check_text, check_tree, too_deep
from agvent.filters.elvin_tokens import ElvinToken, Sort, number_of, tokens_of, unescaped
from agvent.filters.functions import ELVIN_FUNCTIONS, TEXT_FUNCTIONS, compiled
from agvent.filters.patterns import wildcard_tokens
from agvent.filters.sql_operands import READINGS_MAX
from agvent.filters.sql_tokens import SELECTABLE_HEADERS, nearest
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Compare,
    Condition,
    Expression,
    Function,
    Literal,
    Negative,
    Node,
    Not,
    OfType,
    Or,
    TextTest,
    Xor,
)

OR, XOR, AND, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY = range(1, 12)
"""Precedence, loosest first; ! binds looser than a comparison and tighter than &&."""

LEVELS: Final[dict[str, int]] = {
    "||": OR,
    "^^": XOR,
    "&&": AND,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), COMPARISON),
    "|": BIT_OR,
    "^": BIT_XOR,
    "&": BIT_AND,
    **dict.fromkeys(("<<", ">>", ">>>"), SHIFT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
}
JOINS: Final[dict[str, type[And | Or | Xor]]] = {"&&": And, "||": Or, "^^": Xor}
COMPARISONS: Final = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
EXPRESSIONS: Final = (Literal, Attribute, Arithmetic, Negative, Function)

TYPES: Final = {
    "require": "any",
    **{name: name for name in ("int32", "int64", "real64", "string", "opaque", "nan")},
}
"""The type predicates, and what the tree calls them."""

TESTS: Final = ("begins-with", "ends-with", "contains", "wildcard", "regex")
PATTERNS: Final[dict[str, Callable[[str], object]]] = {"wildcard": wildcard_tokens, "regex": compiled}
"""The tests whose text has to be read."""

CALLABLE: Final = (*TYPES, *TESTS, "equals", *ELVIN_FUNCTIONS)
OLD_NAMES: Final = {"exists": "require", "sizeof": "size", "icase": "fold-case", "lower": "fold-case"}
FOREIGN: Final = {"=": "==", "<>": "!=", "AND": "&&", "OR": "||", "NOT": "!", "XOR": "^^"}
"""What people write who come from another language, and what Elvin writes."""

GLUED: Final = ("==", "!=", "<=", ">=", "&&", "||", "^^", "<<", ">>", "<", ">", "=", "+", "*", "/", "%", "&", "|", "-")
T = TypeVar("T")


def parse_elvin(text: str, known: Collection[str] | None = None) -> Condition:
    """The tree of a subscription; a name that is not in `known`, where that is given, is an error."""
    check_text(text)
    parser = _ElvinParser(text, known)
    tree = parser.whole()
    if len(parser.tokens) > limits.FILTER_DEPTH_MAX:  # each level and each predicate takes a token at least
        check_tree(tree, text)
    return tree


class _ElvinParser:
    """`at` is the index of the next token; each method leaves it behind what it read."""

    def __init__(self, text: str, known: Collection[str] | None) -> None:
        self.text = text
        self.known = known
        self.tokens = tokens_of(text)
        self.at = 0

    @property
    def token(self) -> ElvinToken:
        return self.tokens[self.at]

    def whole(self) -> Condition:
        node = self.expression(OR, 0)
        if self.token.sort is not Sort.END:
            raise self.unexpected("an operator or the end")
        return self.condition(node, 0)

    def expression(self, floor: int, depth: int) -> Node:
        """A node whose operators bind at least as tightly as the floor."""
        if depth > READINGS_MAX:
            raise too_deep(self.text, self.token.position)
        start = self.at
        left = self.operand(depth)
        while self.token.sort is Sort.OPERATOR and LEVELS.get(self.token.text, 0) >= floor:
            op = self.token.text
            if op not in JOINS:
                depth += 1  # the operator puts all before it one level deeper
            self.at += 1
            left = self.joined(op, left, start, depth)
        return left

    def joined(self, op: str, left: Node, start: int, depth: int) -> Node:
        """What an operator makes of the node before it and of what follows."""
        if op in JOINS:
            return self.logical(op, left, start, depth)
        following = self.at
        right = self.expression(LEVELS[op] + 1, depth + 1)
        if op in COMPARISONS:
            return self.comparison(COMPARISONS[op], (left, start), (right, following))
        needed = self.integer if op in BITWISE else self.number
        return Arithmetic(op, needed(left, start), needed(right, following))

    def logical(self, op: str, left: Node, start: int, depth: int) -> Condition:
        """One node for a chain of the same operator."""
        join = JOINS[op]
        parts = list(left.parts) if isinstance(left, join) else [self.condition(left, start)]
        while True:
            start = self.at
            node = self.expression(LEVELS[op] + 1, depth + 1)
            parts += node.parts if isinstance(node, join) else (self.condition(node, start),)
            if not self.token.is_operator(op):
                return join(tuple(parts))
            self.at += 1

    def comparison(self, op: str, left: tuple[Node, int], right: tuple[Node, int]) -> Compare:
        (first, _), (second, place) = left, right
        values = self.value(*left), self.value(*right)
        kinds = _kind(first), _kind(second)
        if op not in ("=", "<>") and "a string" in kinds:
            at = left[1] if kinds[0] == "a string" else place
            raise self.error("a string has no order", at, "strings compare with == and != only")
        if None not in kinds and (kinds[0] == "a string") != (kinds[1] == "a string"):
            raise self.error(f"{kinds[0]} never compares with {kinds[1]}", place)
        return Compare(op, *values, None)

    def operand(self, depth: int) -> Node:
        token = self.token
        if token.sort is Sort.NAME:
            following = self.tokens[self.at + 1]
            return self.call(depth) if following.is_operator("(") else self.attribute()
        if token.sort is Sort.NUMBER:
            self.at += 1
            return Literal(self.try_at(self.at - 1, lambda: number_of(token.text)))
        if token.sort is Sort.STRING:
            self.at += 1
            return Literal(unescaped(token.text[1:-1]))
        if token.is_operator("!", "+", "-", "~"):
            return self.prefixed(token.text, depth)
        if not token.is_operator("("):
            raise self.unexpected("a value")
        self.at += 1
        node = self.expression(OR, depth + 1)
        self.expect(")", "an operator or )")
        return node

    def prefixed(self, op: str, depth: int) -> Node:
        self.at = start = self.at + 1
        if op == "!":
            return Not(self.condition(self.expression(COMPARISON, depth + 1), start))
        token = self.token
        if token.sort is Sort.NUMBER and op != "~":
            self.at += 1
            return Literal(self.try_at(start, lambda: number_of(token.text, negative=op == "-")))
        node = self.expression(UNARY, depth + 1)
        if op == "~":  # ~x is x ^ -1, in both widths
            return Arithmetic("^", self.integer(node, start), Literal(Int32(-1)))
        return Negative(self.number(node, start)) if op == "-" else self.number(node, start)

    def attribute(self) -> Attribute:
        token = self.token
        name = unescaped(token.text)
        if name.startswith("$") and name not in SELECTABLE_HEADERS:
            raise self.error(f"unknown header {name!r}", self.at, nearest(name, SELECTABLE_HEADERS))
        if self.known is not None and name not in {*self.known, *SELECTABLE_HEADERS}:
            raise self.error(f"unknown attribute {name!r}", self.at, nearest(name, self.known) or _glued(token.text))
        self.at += 1
        return Attribute((name,))

    def call(self, depth: int) -> Node:
        start, name = self.at, unescaped(self.token.text)
        if name not in CALLABLE:
            hint = f"Elvin has {OLD_NAMES[name]}" if name in OLD_NAMES else nearest(name, CALLABLE)
            raise self.error(f"unknown function {name!r}", start, hint or _glued(self.token.text))
        self.at += 2
        if name in TYPES or name == "size":
            operand = self.named(name)
            self.expect(")")
            return Function("size", (operand,)) if name == "size" else OfType(operand, TYPES[name])
        places = [self.at]
        args = [self.argument(depth)]
        while self.token.is_operator(","):
            self.at += 1
            places.append(self.at)
            args.append(self.argument(depth))
        self.expect(")", ", or )")
        if name in ELVIN_FUNCTIONS:
            self.check_count(name, args, start, many=False)
            return Function(name, (self.string(args[0], places[0]),))
        self.check_count(name, args, start, many=True)
        return self.equals(args, places) if name == "equals" else self.text_test(name, args, places)

    def named(self, function: str) -> Attribute:
        """The argument of a function that is about an attribute, not about a value."""
        if self.token.sort is not Sort.NAME or self.tokens[self.at + 1].is_operator("("):
            raise self.unexpected(f"the name of an attribute in {function}()")
        return self.attribute()

    def argument(self, depth: int) -> Expression:
        start = self.at
        return self.value(self.expression(BIT_OR, depth + 1), start)

    def check_count(self, name: str, args: list[Expression], start: int, *, many: bool) -> None:
        if many and len(args) < 2:
            raise self.error(f"{name}() takes at least 2 arguments, found {len(args)}", start)
        if not many and len(args) != 1:
            raise self.error(f"{name}() takes 1 argument, found {len(args)}", start)

    def equals(self, args: list[Expression], places: list[int]) -> Condition:
        """`equals(x, a, b)` is `x == a || x == b`; written out it must keep to the length of a filter."""
        first = args[0], places[0]
        size = self.tokens[places[1]].position - self.tokens[places[0]].position
        if size * (len(args) - 1) > limits.FILTER_CHARS_MAX:
            message = f"equals() written out has more than {limits.FILTER_CHARS_MAX} characters"
            raise self.error(message, places[0], "give it fewer values or a shorter first argument")
        parts = [self.comparison("=", first, other) for other in zip(args[1:], places[1:], strict=True)]
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def text_test(self, name: str, args: list[Expression], places: list[int]) -> TextTest:
        texts = []
        for arg, place in zip(args[1:], places[1:], strict=True):
            if not isinstance(arg, Literal) or not isinstance(arg.value, str):
                raise self.error(f"expected a string in quotes in {name}()", place)
            if name in PATTERNS:
                self.try_at(place, lambda pattern=arg.value: PATTERNS[name](pattern))  # type: ignore[misc]
            texts.append(arg.value)
        return TextTest(name, self.string(args[0], places[0]), tuple(texts))

    def condition(self, node: Node, start: int) -> Condition:
        if not isinstance(node, EXPRESSIONS):
            return node  # type: ignore[return-value]
        glued = _glued(self.tokens[start].text) if isinstance(node, Attribute) else None
        found = _kind(node) or "a value"
        raise self.error(
            f"expected a condition, found {found}", start, glued or "compare it with something, as in x != 0"
        )

    def value(self, node: Node, start: int) -> Expression:
        if isinstance(node, EXPRESSIONS):
            return node
        raise self.error("expected a value, found a condition", start, "join conditions with &&, ^^ and ||")

    def number(self, node: Node, start: int) -> Expression:
        value = self.value(node, start)
        if _kind(value) == "a string":
            raise self.error("expected a number, found a string", start, "arithmetic is for numbers")
        return value

    def integer(self, node: Node, start: int) -> Expression:
        value = self.number(node, start)
        if _kind(value) == "a real64":
            raise self.error("expected an integer, found a real64", start, "bitwise operators are for int32 and int64")
        return value

    def string(self, node: Expression, start: int) -> Expression:
        if _kind(node) not in (None, "a string"):
            raise self.error(f"expected a string, found {_kind(node)}", start)
        return node

    def expect(self, operator: str, expected: str | None = None) -> None:
        if not self.token.is_operator(operator):
            raise self.unexpected(expected or operator)
        self.at += 1

    def try_at(self, index: int, read: Callable[[], T]) -> T:
        """What `read` gives, its error told at the place of this token."""
        try:
            return read()
        except CallerError as error:
            raise self.error(error.message, index, error.hint) from None

    def error(self, message: str, index: int, hint: str | None = None) -> FilterError:
        return FilterError(message, self.text, self.tokens[index].position, hint=hint)

    def unexpected(self, expected: str) -> FilterError:
        """The error for the token at the cursor."""
        token = self.token
        if token.text in ('"', "'"):
            hint = f"write \\{token.text} for a quote inside a string"
            return self.error("a string without its closing quote", self.at, hint)
        if token.text == "\\":
            return self.error("a backslash with nothing after it", self.at)
        found = "the end" if token.sort is Sort.END else repr(token.text)
        return self.error(f"expected {expected}, found {found}", self.at, self.hint())

    def hint(self) -> str | None:
        token = self.token
        before = self.tokens[self.at - 1].text if self.at else ""
        for text in (before + token.text, token.text, token.text.upper()):
            if text in FOREIGN:
                return f"Elvin writes {FOREIGN[text]}"
        if token.is_operator("(") and self.at and self.tokens[self.at - 1].sort is Sort.NAME:
            return nearest(unescaped(self.tokens[self.at - 1].text), CALLABLE)
        return _glued(token.text) if token.sort is Sort.NAME else None


def _kind(node: Node) -> str | None:
    """What a value is known to be before there is an event."""
    match node:
        case Literal(str()):
            return "a string"
        case Literal(float()):
            return "a real64"
        case Function(name) if name in TEXT_FUNCTIONS:
            return "a string"
        case Literal() | Arithmetic() | Negative() | Function():
            return "a number"
        case _:
            return None


def _glued(name: str) -> str | None:
    """A hint for a name that swallowed an operator."""
    for operator in GLUED:
        before, found, _ = name.partition(operator)
        if found and before:
            return f"a name goes on to the next blank: write {before} {operator} …"
    return None
