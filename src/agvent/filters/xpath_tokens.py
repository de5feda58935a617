"""The words of XPath 1.0 (§3.7), and of the prolog that declares namespaces.

Whether `*` multiplies and whether `div` is an operator depends on the word before it, so it is settled here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from agvent.errors import FilterError
from agvent.filters.bounds import check_text

NAME_START: Final = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
NAME: Final = rf"[{NAME_START}][{NAME_START}\-.0-9\u00b7\u0300-\u036f\u203f-\u2040]*+"
"""A name without a colon (Namespaces in XML 1.0, fifth edition of XML 1.0)."""

BLANK: Final = r"[ \t\r\n]"
TOKEN: Final = re.compile(
    rf"""{BLANK}*+(?:
        (?P<name>{NAME}(?::(?!:)(?:{NAME}|\*))?)
      | (?P<number>[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)
      | (?P<text>"[^"]*+"|'[^']*+')
      | (?P<sign>::|//|\.\.|<=|>=|!=|[^ \t\r\n])
      | (?P<end>$))""",
    re.VERBOSE,
)
DECLARATION: Final = re.compile(
    rf"""{BLANK}*+declare{BLANK}++namespace{BLANK}++(?P<prefix>{NAME}){BLANK}*+={BLANK}*+(?P<uri>"[^"]*+"|'[^']*+')
    {BLANK}*+(?P<end>;)?""",
    re.VERBOSE,
)
PROLOG: Final = re.compile(rf"{BLANK}*+(?P<word>declare){BLANK}++[{NAME_START}]")
NOT_XML: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
OPERATOR_NAMES: Final = frozenset({"and", "or", "div", "mod"})
OPERATOR_SIGNS: Final = frozenset({"/", "//", "|", "+", "-", "=", "!=", "<", "<=", ">", ">=", "*"})
OPERAND_FOLLOWS: Final = frozenset({"@", "::", "(", "[", ","})
RESERVED_PREFIXES: Final = ("xml", "xmlns")


class XPathToken(NamedTuple):
    """`kind` is name, number, text, operator, sign or end."""

    kind: str
    text: str
    position: int


class Declared(NamedTuple):
    """Prefixes and their namespaces, and where the expression begins."""

    namespaces: dict[str, str]
    end: int


def check_characters(text: str) -> None:
    """Refuses what the bounds refuse, and a character that no XML document can carry."""
    check_text(text)
    wrong = NOT_XML.search(text)
    if wrong:
        raise FilterError(f"U+{ord(wrong[0]):04X} is not a character of XML", text, wrong.start())


def declared(text: str) -> Declared:
    """The namespaces of the prolog: `declare namespace m = "http://example.com/menu";`."""
    namespaces: dict[str, str] = {}
    end = 0
    while word := PROLOG.match(text, end):
        found = DECLARATION.match(text, end)
        if not found:
            hint = 'write declare namespace m = "http://example.com/menu"; before the path'
            raise FilterError("expected the declaration of a namespace", text, word.start("word"), hint=hint)
        if not found["end"]:
            raise FilterError("expected ';' after the declaration", text, found.end())
        prefix, uri = found["prefix"], found["uri"][1:-1]
        if prefix in RESERVED_PREFIXES:
            raise FilterError(f"the prefix {prefix!r} cannot be declared", text, found.start("prefix"))
        if prefix in namespaces:
            raise FilterError(f"the prefix {prefix!r} is declared twice", text, found.start("prefix"))
        if not uri:
            raise FilterError("a namespace cannot be empty", text, found.start("uri"), hint="a plain name has none")
        namespaces[prefix] = uri
        end = found.end()
    return Declared(namespaces, end)


def tokens(text: str, start: int) -> Iterator[XPathToken]:
    """The words from `start` on; the last is of kind end."""
    before: XPathToken | None = None
    position = start
    while before is None or before.kind != "end":
        found = TOKEN.match(text, position)
        assert found, "a sign is any character"
        kind = str(found.lastgroup)
        before = XPathToken(_kind(kind, found[kind], before), found[kind], found.start(kind))
        yield before
        position = found.end()


def _kind(kind: str, text: str, before: XPathToken | None) -> str:
    """XPath 1.0 §3.7: after an operand, `*` and a name are operators."""
    after_operand = before is not None and before.kind != "operator" and before.text not in OPERAND_FOLLOWS
    if text == "*" and kind == "sign":
        return "operator" if after_operand else "name"
    if kind == "name":
        return "operator" if after_operand and text in OPERATOR_NAMES else "name"
    return "operator" if kind == "sign" and text in OPERATOR_SIGNS else kind
