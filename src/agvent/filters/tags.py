r"""Tag=value filters (Narada §7.1.3): `Make=Ford,Model=*,Color=Red`.

Every tag must have its value; `*` asks only that the tag is there. A tag is the name of one attribute. A value is text:
it equals a string of the same characters, or the number or boolean that it is written as. A backslash makes `,`, `=`,
`*` and itself literal; blanks around tags and values do not count.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from agvent import limits
from agvent.errors import FilterError, TranslationError
from agvent.filters.bounds import check_text, check_tree
from agvent.filters.sql_tokens import SELECTABLE_HEADERS, nearest
from agvent.filters.tree import EVERYTHING, And, Attribute, Compare, Condition, In, IsNull, Literal, Not

PIECE: Final = re.compile(r"\\(?P<escaped>[,=*\\])|(?P<stray>\\)|(?P<special>[,=*])|(?P<plain>[^,=*\\]+)")
NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?P<fraction>(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)", re.ASCII)
BOOLEANS: Final = {"true": True, "false": False}
NEEDS_ESCAPE: Final = re.compile(r"[,=*\\]")


class Word(NamedTuple):
    """A tag or a value: its characters, where it begins, and whether it is a lone unescaped `*`."""

    text: str
    position: int
    is_star: bool


def parse_tags(text: str, known: Collection[str] | None = None) -> Condition:
    check_text(text)
    if not text.strip():
        return EVERYTHING
    parts: dict[str, Condition] = {}
    for tag, value in _pairs(text):
        if tag.text in parts:
            raise FilterError(f"the tag {tag.text!r} stands twice", text, tag.position)
        _check_tag(tag, text, known)
        parts[tag.text] = _condition(Attribute((tag.text,)), value)
    tree = And(tuple(parts.values())) if len(parts) > 1 else next(iter(parts.values()))
    check_tree(tree, text)
    return tree


def _pairs(text: str) -> Iterator[tuple[Word, Word]]:
    """The pairs between commas."""
    words: list[list[re.Match[str]]] = [[]]
    equals: list[int] = []
    for piece in PIECE.finditer(text):
        if piece["stray"]:
            raise FilterError("a backslash stands before no special character", text, piece.start(), hint=r"write \\")
        if piece["special"] == ",":
            yield _pair(words, equals, text, piece.start())
            words, equals = [[]], []
        elif piece["special"] == "=":
            words.append([])
            equals.append(piece.start())
        else:
            words[-1].append(piece)
    yield _pair(words, equals, text, len(text))


def _pair(words: list[list[re.Match[str]]], equals: list[int], text: str, end: int) -> tuple[Word, Word]:
    """Two words with one `=` between them."""
    if not equals:
        raise FilterError("expected tag=value", text, _word(words[0], text, end).position)
    if len(equals) > 1:
        raise FilterError("a second = in one pair", text, equals[1], hint=r"write \= if it is part of the value")
    tag, value = _word(words[0], text, equals[0]), _word(words[1], text, end)
    if not tag.text or tag.is_star:
        raise FilterError("expected a tag before the =", text, tag.position)
    return tag, value


def _word(pieces: list[re.Match[str]], text: str, end: int) -> Word:
    """The pieces joined, blanks around them dropped (an escaped character is never blank)."""
    raw = "".join(piece["escaped"] or piece[0] for piece in pieces)
    joined = raw.strip()
    position = pieces[0].start() + len(raw) - len(raw.lstrip()) if joined else end
    stars = [piece for piece in pieces if piece["special"] == "*"]
    if stars and joined != "*":
        hint = r"write \* if it is part of the value"
        raise FilterError("* stands for a whole value", text, stars[0].start(), hint=hint)
    return Word(joined, position, bool(stars))


def _check_tag(tag: Word, text: str, known: Collection[str] | None) -> None:
    if tag.text in SELECTABLE_HEADERS:
        return
    if tag.text.startswith("$"):
        hint = nearest(tag.text, SELECTABLE_HEADERS)
        raise FilterError(f"unknown header {tag.text!r}", text, tag.position, hint=hint)
    if known is not None and tag.text not in known:
        raise FilterError(f"unknown attribute {tag.text!r}", text, tag.position, hint=nearest(tag.text, known))


def _condition(attribute: Attribute, value: Word) -> Condition:
    if value.is_star:
        return Not(IsNull(attribute))
    other = _other_reading(value.text)
    if other is None:
        return Compare("=", attribute, Literal(value.text))
    return In(attribute, (Literal(value.text), Literal(other)))


def _other_reading(text: str) -> bool | int | float | None:
    """The number or boolean that the text is written as, if it is one."""
    found = NUMBER.fullmatch(text)
    if not found:
        return BOOLEANS.get(text.lower())
    if found["fraction"]:
        return float(text) if math.isfinite(float(text)) else None
    return int(text) if len(text) <= 20 and limits.INT_MIN <= int(text) <= limits.INT_MAX else None


def format_tags(tree: Condition) -> str:
    parts = tree.parts if isinstance(tree, And) else (tree,)
    pairs = [_pair_of(part) for part in parts]
    if len({tag for tag, _ in pairs}) < len(pairs):
        raise TranslationError(f"tag=value names each attribute once: {tree}"[:300])
    return ",".join(f"{_escaped(tag)}={value}" for tag, value in pairs)


def _pair_of(part: Condition) -> tuple[str, str]:
    tag: Any
    match part:
        case Not(IsNull(Attribute((str() as tag,)))) if _is_tag(tag):
            return tag, "*"
        case Compare("=", Attribute((str() as tag,)), Literal(str() as text)) if _is_tag(tag):
            if text.strip() == text and _other_reading(text) is None:
                return tag, _escaped(text)
        case In(Attribute((str() as tag,)), (Literal(str() as text), other)) if _is_tag(tag):
            reading = _other_reading(text)
            if reading is not None and Literal(reading) == other:
                return tag, _escaped(text)
    raise TranslationError(f"tag=value cannot express {part}"[:300])


def _is_tag(tag: str) -> bool:
    return bool(tag) and tag.strip() == tag and (not tag.startswith("$") or tag in SELECTABLE_HEADERS)


def _escaped(text: str) -> str:
    return NEEDS_ESCAPE.sub(lambda found: "\\" + found[0], text)
