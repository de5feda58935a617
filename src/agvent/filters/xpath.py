"""XPath 1.0 over an event's `$xml` (Narada §7.1.5): `/menu/softdrinks[price > 1.80]`.

The parser reads the whole grammar by precedence climbing, and refuses what could only fail on a document: variables,
functions and prefixes that do not exist, a number where nodes are needed. The condition holds the text in its one
canonical form, so that equal filters are equal trees.
"""

from __future__ import annotations

from typing import Final

from lxml import etree

from agvent import limits
from agvent.errors import FilterError, TranslationError
from agvent.filters.bounds import too_deep
from agvent.filters.sql_tokens import nearest
from agvent.filters.tree import Condition, XPath
from agvent.filters.xpath_tokens import XPathToken, check_characters, declared, tokens
from agvent.filters.xpath_tree import (
    ANY_NODE,
    DESCEND,
    FUNCTIONS,
    NODES,
    PARENT,
    PRECEDENCE,
    ROOT,
    SELF,
    UNION,
    Binary,
    Expression,
    Filtered,
    KindTest,
    LocationPath,
    LocationStep,
    NameTest,
    Node,
    Number,
    Root,
    Text,
    XPathCall,
    XPathJoined,
    XPathNegative,
    children,
    quoted,
    type_of,
    write,
)

AXES: Final = (
    "ancestor", "ancestor-or-self", "attribute", "child", "descendant", "descendant-or-self", "following",
    "following-sibling", "namespace", "parent", "preceding", "preceding-sibling", "self",
)  # fmt: skip
KINDS: Final = ("node", "text", "comment", "processing-instruction")
JOINING: Final = ("and", "or", "|")
FOREIGN: Final = {"==": "=", "&": "and", "||": "or", "!": "not(…)", "<>": "!="}
READINGS_MAX: Final = limits.FILTER_DEPTH_MAX + 32
"""Readings that may be open while parsing: some are parentheses, which are not in the tree whose depth is checked."""


def parse_xpath(text: str) -> Condition:
    """The condition of an XPath and the prolog before it."""
    check_characters(text)
    namespaces, start = declared(text)
    expression = _XPathParser(text, list(tokens(text, start)), namespaces).whole()
    _check_bounds(expression, text)
    return XPath(write(expression), tuple(namespaces.items()))


def expression_of(condition: XPath) -> Expression:
    """The tree of a condition's canonical text."""
    found = list(tokens(condition.expression, 0))
    return _XPathParser(condition.expression, found, dict(condition.namespaces)).whole()


def format_xpath(tree: Condition) -> str:
    """The text of a condition that is one XPath."""
    if not isinstance(tree, XPath):
        raise TranslationError(f"XPath cannot express {type(tree).__name__} {tree}"[:300])
    prolog = "".join(f"declare namespace {prefix} = {quoted(uri)}; " for prefix, uri in tree.namespaces)
    return prolog + tree.expression


def _check_bounds(expression: Expression, text: str) -> None:
    """Refuses a tree that is too deep or too large; walks level by level, so depth costs no stack."""
    level: list[Node] = [expression]
    depth = count = 0
    while level:
        depth += 1
        count += len(level)
        level = [child for node in level for child in children(node)]
    if depth > limits.FILTER_DEPTH_MAX:
        raise too_deep(text, 0)
    if count > limits.FILTER_PREDICATES_MAX:
        message = f"the XPath has {count} parts, at most {limits.FILTER_PREDICATES_MAX} are allowed"
        raise FilterError(message, text, 0)


class _XPathParser:
    def __init__(self, text: str, words: list[XPathToken], namespaces: dict[str, str]) -> None:
        self.text = text
        self.words = words
        self.namespaces = namespaces
        self.at = 0
        self.open = 0

    @property
    def word(self) -> XPathToken:
        return self.words[self.at]

    def whole(self) -> Expression:
        if self.word.kind == "end":
            raise self.error("expected an XPath, found nothing", self.word)
        expression = self.expression()
        if self.word.kind != "end":
            raise self.unexpected("an operator or the end")
        return expression

    def expression(self, floor: int = 1) -> Expression:
        """An expression whose operators bind at least as tightly as the floor."""
        self.open += 1
        if self.open > READINGS_MAX:
            raise too_deep(self.text, self.word.position)
        start = self.word
        left = self.unary()
        while self.word.kind == "operator" and PRECEDENCE.get(self.word.text, 0) >= floor:
            op = self.take().text
            follows = self.word
            right = self.expression(PRECEDENCE[op] + 1)
            if op == "|":
                self.nodes(left, start)
                self.nodes(right, follows)
            left = self.joined(op, left, right)
        self.open -= 1
        return left

    def joined(self, op: str, left: Expression, right: Expression) -> Expression:
        if op not in JOINING:
            return Binary(op, left, right)
        done = left.parts if isinstance(left, XPathJoined) and left.op == op else (left,)
        return XPathJoined(op, (*done, right))

    def unary(self) -> Expression:
        signs = 0
        while self.word[:2] == ("operator", "-"):
            self.take()
            signs += 1
        operand = self.expression(UNION) if signs else self.path()
        for _ in range(signs):
            operand = XPathNegative(operand)
        return operand

    def path(self) -> Expression:
        """A location path, or a primary expression with what hangs on it."""
        if self.is_primary():
            return self.primary_path()
        steps: list[LocationStep] = []
        start = None
        if self.word.text in ("/", "//") and self.word.kind == "operator":
            start = ROOT
            if self.take().text == "/":
                if not self.is_step():
                    return LocationPath(start, ())
            else:
                steps.append(DESCEND)
        return self.steps(start, steps)

    def steps(self, start: Root | Expression | None, steps: list[LocationStep]) -> LocationPath:
        steps.append(self.step())
        while self.word.kind == "operator" and self.word.text in ("/", "//"):
            if self.take().text == "//":
                steps.append(DESCEND)
            steps.append(self.step())
        return LocationPath(start, tuple(steps))

    def is_primary(self) -> bool:
        word = self.word
        if word.kind in ("number", "text") or word.text in ("(", "$"):
            return True
        return word.kind == "name" and self.next_is("(") and word.text not in KINDS

    def is_step(self) -> bool:
        return self.word.kind == "name" or (self.word.kind == "sign" and self.word.text in (".", "..", "@"))

    def next_is(self, text: str) -> bool:
        return self.words[self.at + 1][:2] == ("sign", text)

    def primary_path(self) -> Expression:
        start = self.word
        primary = self.primary()
        predicates = self.predicates()
        if predicates:
            primary = Filtered(self.nodes(primary, start), predicates)
        if self.word.kind != "operator" or self.word.text not in ("/", "//"):
            return primary
        self.nodes(primary, start)
        steps = [DESCEND] if self.take().text == "//" else []
        return self.steps(primary, steps)

    def primary(self) -> Expression:
        word = self.take()
        if word.kind == "number":
            return Number(word.text)
        if word.kind == "text":
            return Text(word.text[1:-1])
        if word.text == "$":
            raise self.error("XPath filters have no variables", word, "write the value itself")
        if word.text == "(":
            inner = self.expression()
            self.expect(")", "an operator or ')'")
            return inner
        return self.call(word)

    def call(self, name: XPathToken) -> XPathCall:
        self.expect("(", "'('")
        if name.text not in FUNCTIONS:
            hint = nearest(name.text, FUNCTIONS) or "the functions are those of XPath 1.0"
            raise self.error(f"there is no function {name.text}()", name, hint)
        places: list[XPathToken] = []
        args: list[Expression] = []
        while not (self.word.text == ")" and not args):
            places.append(self.word)
            args.append(self.expression())
            if self.word[:2] != ("sign", ","):
                break
            self.take()
        self.expect(")", "',' or ')'")
        signature = FUNCTIONS[name.text]
        if not signature.least <= len(args) <= signature.most:
            raise self.error(f"{name.text}() takes {_amount(signature.least, signature.most)}", name)
        if signature.nodes and args:
            self.nodes(args[0], places[0])
        return XPathCall(name.text, tuple(args))

    def step(self) -> LocationStep:
        word = self.word
        if word[:2] == ("sign", "."):
            self.take()
            return SELF
        if word[:2] == ("sign", ".."):
            self.take()
            return PARENT
        axis = self.axis()
        return LocationStep(axis, self.test(), self.predicates())

    def axis(self) -> str:
        word = self.word
        if word[:2] == ("sign", "@"):
            self.take()
            return "attribute"
        if word.kind == "name" and self.next_is("::"):
            if word.text not in AXES:
                raise self.error(f"there is no axis {word.text}::", word, nearest(word.text, AXES))
            self.take()
            self.take()
            return word.text
        return "child"

    def test(self) -> NameTest | KindTest:
        word = self.word
        if word.kind != "name":
            raise self.unexpected("a step: a name, *, @name, . or ..")
        self.take()
        if self.word[:2] == ("sign", "("):
            return self.kind_test(word)
        self.check_name(word)
        prefix, colon, local = word.text.rpartition(":")
        if colon and prefix not in self.namespaces and prefix != "xml":
            hint = nearest(prefix, self.namespaces) or f'write declare namespace {prefix} = "…"; before the path'
            raise self.error(f"the prefix {prefix!r} is not declared", word, hint)
        return NameTest(prefix if colon else None, local)

    def check_name(self, word: XPathToken) -> None:
        """libxml2 reads XML names by an older edition, with fewer letters, than those its documents may have."""
        try:
            if not word.text.isascii():
                etree.XPath(word.text)
        except etree.XPathSyntaxError:
            message = f"{word.text!r} has a letter that libxml2's XPath does not read in names"
            raise self.error(message, word, "write *[local-name() = '…'] instead") from None

    def kind_test(self, word: XPathToken) -> KindTest:
        if word.text not in KINDS:
            hint = "functions stand before a path, not in it" if word.text in FUNCTIONS else nearest(word.text, KINDS)
            raise self.error(f"{word.text}() is not a node test", word, hint)
        self.take()
        target = None
        if self.word.kind == "text" and word.text == "processing-instruction":
            target = self.take().text[1:-1]
        self.expect(")", "')'")
        return ANY_NODE if word.text == "node" else KindTest(word.text, target)

    def predicates(self) -> tuple[Expression, ...]:
        found: list[Expression] = []
        while self.word[:2] == ("sign", "["):
            self.take()
            found.append(self.expression())
            self.expect("]", "an operator or ']'")
        return tuple(found)

    def nodes(self, node: Expression, place: XPathToken) -> Expression:
        """The expression if it gives a node-set."""
        if type_of(node) != NODES:
            raise self.error(f"expected {NODES}, found {type_of(node)}", place)
        return node

    def take(self) -> XPathToken:
        word = self.word
        if word.kind != "end":
            self.at += 1
        return word

    def expect(self, sign: str, expected: str) -> None:
        if self.word[:2] != ("sign", sign):
            raise self.unexpected(expected)
        self.take()

    def error(self, message: str, word: XPathToken, hint: str | None = None) -> FilterError:
        return FilterError(message, self.text, word.position, hint=hint)

    def unexpected(self, expected: str) -> FilterError:
        """The error for the word at the cursor."""
        word = self.word
        if word.text in ("'", '"'):
            return self.error("a string without its closing quote", word, "no string holds both kinds of quotes")
        found = "the end" if word.kind == "end" else repr(word.text)
        foreign = FOREIGN.get(self.words[self.at - 1].text + word.text) or FOREIGN.get(word.text)
        return self.error(f"expected {expected}, found {found}", word, f"XPath writes {foreign}" if foreign else None)


def _amount(least: int, most: int) -> str:
    if least == most:
        return f"{least or 'no'} argument{'' if least == 1 else 's'}"
    return f"{least} or {most} arguments" if most == least + 1 else f"{least} or more arguments"
