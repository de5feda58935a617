"""LIKE and topic patterns as tokens, and matching text against them.

A pattern is a tuple of literal pieces and wildcards. Two facts keep matching free of backtracking, and both engines
that read tokens may rely on them: `MANY` never stands beside another `MANY`, and `LEVEL` (topics only) is followed by
a piece that begins with `/`, or by nothing, so it always takes the whole level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum

from agvent import limits
from agvent.errors import CallerError, FilterError


class Wild(Enum):
    """A wildcard: one character, any number of characters, or any number of characters other than `/`."""

    ONE = "_"
    MANY = "%"
    LEVEL = "+"


Token = str | Wild
Tokens = tuple[Token, ...]

ONE, MANY, LEVEL = Wild.ONE, Wild.MANY, Wild.LEVEL
LIKE_WILDS = {"_": ONE, "%": MANY}


def like_tokens(pattern: str, escape: str | None = None) -> Tokens:
    """The tokens of a LIKE pattern; the escape character makes a following `_`, `%` or itself literal.

    >>> like_tokens("50!%_off%", "!")
    ('50%', <Wild.ONE: '_'>, 'off', <Wild.MANY: '%'>)
    """
    tokens: list[Token] = []
    position = 0
    while position < len(pattern):
        character = pattern[position]
        if character == escape:
            position += 1
            tokens.append(_escaped(pattern, position, escape))
        else:
            tokens.append(LIKE_WILDS.get(character, character))
        position += 1
    return _bounded(_merged(tokens))


def _escaped(pattern: str, position: int, escape: str) -> str:
    if position < len(pattern) and pattern[position] in ("_", "%", escape):
        return pattern[position]
    found = f"before {pattern[position]!r}" if position < len(pattern) else "at the end of the pattern"
    message = f"the escape character {escape!r} stands {found}, expected _, % or {escape} after it"
    raise FilterError(message, pattern, position - 1, hint=f"write {escape}{escape} for the character itself")


WILDCARD_WILDS = {"?": ONE, "*": MANY}


def wildcard_tokens(pattern: str) -> Tokens:
    r"""The tokens of Elvin's wildcard: a backslash makes the next character literal; as the last it is itself.

    >>> wildcard_tokens(r"50\*?off*")
    ('50*', <Wild.ONE: '_'>, 'off', <Wild.MANY: '%'>)
    """
    tokens: list[Token] = []
    escaped = False
    for character in pattern:
        if character == "\\" and not escaped:
            escaped = True
            continue
        tokens.append(character if escaped else WILDCARD_WILDS.get(character, character))
        escaped = False
    return _bounded(_merged([*tokens, "\\"] if escaped else tokens))


def _bounded(tokens: Tokens) -> Tokens:
    """The tokens, or an error if a part that has to be tried at each place of a text is too long."""
    for part in _split_at_many(tokens)[1:-1]:
        if ONE in part and _length(part) > limits.PATTERN_PART_CHARS_MAX:
            raise CallerError(
                f"a part of the pattern has {_length(part)} characters and a wildcard for one character, "
                f"at most {limits.PATTERN_PART_CHARS_MAX} are allowed"
            )
    return tokens


def text_tokens(test: str, text: str) -> Tokens | None:
    """The pattern that a string has to be under to pass a test of Elvin's; None for a regular expression."""
    match test:
        case "begins-with":
            return _merged((text, MANY))
        case "ends-with":
            return _merged((MANY, text))
        case "contains":
            return _merged((MANY, text, MANY))
        case "wildcard":
            return wildcard_tokens(text)
        case _:
            return None


def topic_tokens(pattern: str) -> tuple[Tokens, ...]:
    """The alternatives of a topic pattern, because `Sports/#` is `Sports` or anything below it.

    >>> topic_tokens("Sports/#")
    (('Sports',), ('Sports/', <Wild.MANY: '%'>))
    """
    if len(pattern) > limits.TOPIC_CHARS_MAX:
        raise FilterError(
            f"the pattern has {len(pattern)} characters, at most {limits.TOPIC_CHARS_MAX} are allowed",
            pattern,
            limits.TOPIC_CHARS_MAX,
        )
    levels = pattern.split("/")
    _check_levels(pattern, levels)
    if levels[-1] != "#":
        return (_level_tokens(levels),)
    if len(levels) == 1:
        return ((MANY,),)
    return (_level_tokens(levels[:-1]), _merged([*_level_tokens(levels[:-1]), "/", MANY]))


def _check_levels(pattern: str, levels: Sequence[str]) -> None:
    position = 0
    for level in levels:
        for wild in "+#":
            if wild in level and level != wild:
                where = position + level.index(wild)
                raise FilterError(f"{wild} stands beside other characters, expected a whole level", pattern, where)
        if level == "#" and position + 1 < len(pattern):
            raise FilterError("# is not the last level", pattern, position, hint="use + for one level in the middle")
        position += len(level) + 1


def _level_tokens(levels: Iterable[str]) -> Tokens:
    tokens: list[Token] = []
    for level in levels:
        tokens += ["/", LEVEL if level == "+" else level]
    return _merged(tokens[1:])


def _merged(tokens: Iterable[Token]) -> Tokens:
    """Adjacent pieces of text are one, adjacent MANYs are one, empty text is none."""
    merged: list[Token] = []
    pieces: list[str] = []
    for token in (*tokens, None):
        if isinstance(token, str):
            pieces.append(token)
            continue
        if text := "".join(pieces):
            merged.append(text)
        pieces.clear()
        if token is not None and not (token is MANY and merged and merged[-1] is MANY):
            merged.append(token)
    return tuple(merged)


def matches(tokens: Tokens, text: str) -> bool:
    """Does the whole text fit? Each part between MANYs is looked for once, from the left."""
    head, *rest = _split_at_many(tokens)
    at = _end(head, text, 0)
    if not rest or at < 0:
        return at == len(text)
    *middle, tail = rest
    for part in middle:
        at = _search(part, text, at)
        if at < 0:
            return False
    start = len(text) - _length(tail)
    return start >= at and _end(tail, text, start) == len(text)


def _split_at_many(tokens: Tokens) -> list[Tokens]:
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token is MANY:
            parts.append([])
        else:
            parts[-1].append(token)
    return [tuple(part) for part in parts]


def _end(part: Tokens, text: str, at: int) -> int:
    """Where the part ends if it stands at this place, else -1."""
    for token in part:
        if isinstance(token, str):
            if not text.startswith(token, at):
                return -1
            at += len(token)
        elif token is LEVEL:
            slash = text.find("/", at)
            at = slash if slash >= 0 else len(text)
        elif at < len(text):
            at += 1
        else:
            return -1
    return at


def _search(part: Tokens, text: str, at: int) -> int:
    """Where the first occurrence of the part from this place on ends, else -1; the part has no LEVEL."""
    before = next((n for n, token in enumerate(part) if isinstance(token, str)), len(part))
    if before == len(part):
        return _end(part, text, at)
    anchor = part[before]
    assert isinstance(anchor, str)
    found = text.find(anchor, at + before)
    while found >= 0:
        end = _end(part, text, found - before)
        if end >= 0:
            return end
        found = text.find(anchor, found + 1)
    return -1


def _length(part: Tokens) -> int:
    """Characters of a part without LEVEL."""
    return sum(len(token) if isinstance(token, str) else 1 for token in part)
