"""Tests of text: patterns as Spark's own prefix, suffix and LIKE where they are that.

Spark's strings are UTF-8 compared byte by byte, which is code point by code point. RE2 and Java's expressions differ
(classes, Unicode, what `$` means), so a regular expression is never translated.
"""

from __future__ import annotations

import re

from pyspark.sql import Column

from agvent.event import Kind
from agvent.filters.patterns import LEVEL, MANY, ONE, Tokens, like_tokens, text_tokens, topic_tokens
from agvent.filters.tree import Like, TextTest, TopicPattern
from agvent.spark.pushdown.operands import Operand
from agvent.spark.pushdown.reach import ALL, NONE, UNKNOWN, UNTOLD, Outcomes, Reach, all_of, any_of

LIKE_SPECIAL = re.compile(r"[\\_%]")
JAVA_SPECIAL = re.compile(r"[!-.:-@\[-`{-~]")


def text_outcomes(node: Like | TextTest | TopicPattern, found: Operand) -> Outcomes:
    """A test of a column's text; for other kinds LIKE and topics are false, Elvin's tests unknown."""
    if found.kind is not Kind.STRING:
        return UNKNOWN if isinstance(node, TextTest) else Outcomes(NONE, Reach(found.present()))
    there = Reach(found.present())
    fits = any_of([_fit(found.column, tokens) for tokens in _alternatives(node)])
    true = all_of([there, fits])
    if not fits.exact:
        return Outcomes(true, there._replace(exact=False))
    return Outcomes(true, all_of([there, Reach(not fits.rows if isinstance(fits.rows, bool) else ~fits.rows)]))


def _alternatives(node: Like | TextTest | TopicPattern) -> list[Tokens | None]:
    match node:
        case Like(_, pattern, escape):
            return [like_tokens(pattern, escape)]
        case TextTest(test, _, texts):
            return [text_tokens(test, text) for text in texts]
        case TopicPattern(_, pattern):
            return list(topic_tokens(pattern))


def _fit(column: Column, tokens: Tokens | None) -> Reach:
    """Where the text is under the pattern; None is a regular expression."""
    match tokens:
        case None:
            return UNTOLD
        case (wild,) if wild is MANY:
            return ALL
        case ():
            return Reach(column == "")
        case (str(text),):
            return Reach(column == text)
        case (str(text), wild) if wild is MANY:
            return Reach(column.startswith(text))
        case (wild, str(text)) if wild is MANY:
            return Reach(column.endswith(text))
        case (wild, str(text), end) if wild is end is MANY:
            return Reach(column.contains(text))
        case _:
            return Reach(_pattern(column, tokens))


def _pattern(column: Column, tokens: Tokens) -> Column:
    """LIKE, or for whole levels an expression; its first text stands before it, because Parquet knows prefixes."""
    if LEVEL in tokens:
        fits = column.rlike("(?s)\\A" + "".join(map(_java, tokens)) + "\\z")
    else:
        fits = column.like("".join(map(_like, tokens)))
    return column.startswith(tokens[0]) & fits if isinstance(tokens[0], str) else fits


def _escaped(found: re.Match[str]) -> str:
    return "\\" + found[0]


def _like(token: object) -> str:
    if isinstance(token, str):
        return LIKE_SPECIAL.sub(_escaped, token)
    return "%" if token is MANY else "_"


def _java(token: object) -> str:
    """Only text and wildcards that are the same in every dialect: a dot is one code point, of any kind."""
    if isinstance(token, str):
        return JAVA_SPECIAL.sub(_escaped, token)
    return {MANY: ".*", ONE: ".", LEVEL: "[^/]*"}[token]  # type: ignore[index]
