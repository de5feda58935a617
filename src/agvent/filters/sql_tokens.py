"""The words of the SQL selector (JMS 1.1 §3.8.1.1): one expression cuts a text into tokens, and a token's text alone
says what it is. Positions are found again only for an error, so that reading a good filter never pays for them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import product
from typing import Final

from agvent import limits
from agvent.errors import CallerError
from agvent.event import Path

NAME = r"[A-Za-z_$][\w$]*+|[^\W\d][\w$]*+"
QUOTED = r'"[^"]*+"(?:"[^"]*+")*+'
STEP = rf"(?:{NAME}|{QUOTED})"
TOKEN: Final = re.compile(
    rf"""\s*+(
        {STEP}(?:\.{STEP}|\[[0-9]++\])*+            # a name, with the path below it
      | '[^']*+'(?:'[^']*+')*+                      # a string
      | 0[xX][0-9A-Za-z_$]*+                        # numbers, with whatever sticks to them: reported as one word
      | \.?[0-9][0-9.]*+(?:[eE][+-]?[0-9]++)?[0-9A-Za-z_$]*+
      | <> | <= | >= | != | == | && | \|\|
      | \S)""",
    re.VERBOSE,
)
PATH_STEP: Final = re.compile(rf"(?P<name>{NAME})|(?P<quoted>{QUOTED})|\[(?P<index>[0-9]+)\]")
PLAIN_NAME: Final = re.compile(NAME)
NUMBER: Final = re.compile(
    r"""(?P<decimal>0|[1-9][0-9]*)[lL]?
      | (?P<float>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
      | (?P<hex>0[xX][0-9a-fA-F]+)[lL]?
      | (?P<octal>0[0-7]+)[lL]?""",
    re.VERBOSE,
)
PLAIN_CHARS_MAX: Final = 18
"""Digits that fit in 64 bits, and in a float, whatever they are: most numbers, read without the expression above."""

BASES: Final = {"decimal": 10, "hex": 16, "octal": 8}
INTEGER_DIGITS_MAX: Final = 40
"""Digits of an integer that is read to say that it does not fit: more than any that does, in any base."""

END: Final = ""
"""The token after the last."""

SELECTABLE_HEADERS: Final = ("$type", "$topic", "$channel", "$time")
"""The event's headers that a filter may name; other names that begin with $ are reserved."""

WORDS = ("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE")


def spellings(word: str) -> Iterable[str]:
    """Every mix of upper and lower case: keywords ignore case, and a look-up is cheaper than folding each token."""
    return map("".join, product(*((letter, letter.lower()) for letter in word)))


RESERVED: Final[dict[str, str]] = {spelling: word for word in WORDS for spelling in spellings(word)}

FOREIGN = {"!=": "<>", "==": "=", "&&": "AND", "||": "OR", "!": "NOT"}
"""What people write who come from another language, and what SQL writes."""


def position_of(text: str, index: int) -> int:
    """Where the token of this index begins; the end's token begins after the last character that is not blank."""
    for number, found in enumerate(TOKEN.finditer(text)):
        if number == index:
            return found.start(1)
    return len(text.rstrip())


def path_of(token: str) -> Path:
    """The path a name token stands for: `order.lines[0]."unit price"`."""
    path: list[str | int] = []
    for step in PATH_STEP.finditer(token):
        if step["index"]:
            path.append(checked_integer(_integer(step["index"], 10)))
        elif step["quoted"]:
            path.append(step["quoted"][1:-1].replace('""', '"'))
        else:
            path.append(_unreserved(step["name"]))
    return tuple(path)


def _unreserved(name: str) -> str:
    if name in RESERVED:
        raise CallerError(f"{RESERVED[name]} is a reserved word", hint=f'write "{name}" if it is a name')
    return name


def number_of(token: str, *, negative: bool = False) -> int | float:
    """The value of a numeric literal, Java's integers (decimal, hex, octal, L) or SQL's approximate numbers.

    The sign comes in because the least integer has no positive twin.
    """
    value = _plain_number(token) if len(token) <= PLAIN_CHARS_MAX else None
    if value is not None:
        return -value if negative else value
    found = NUMBER.fullmatch(token)
    if not found or not found.lastgroup:
        raise CallerError(f"{token!r} is not a number", hint="write 12, 0x1F, 017, 12L, 7., .5 or 7E3")
    digits = found[found.lastgroup]
    if found.lastgroup == "float":
        return _finite(-float(digits) if negative else float(digits), token)
    exact = _integer(digits, BASES[found.lastgroup])
    return checked_integer(-exact if negative else exact)


def _integer(digits: str, base: int) -> int:
    """Python itself refuses to read thousands of digits."""
    if len(digits) > INTEGER_DIGITS_MAX:
        raise CallerError(f"{digits[:INTEGER_DIGITS_MAX]}… does not fit in 64 bits")
    return int(digits, base)


def _plain_number(token: str) -> int | float | None:
    if token.isdecimal():
        return int(token) if token[0] != "0" else None
    return float(token) if token.replace(".", "", 1).isdecimal() else None


def _finite(value: float, token: str) -> float:
    if math.isinf(value):
        raise CallerError(f"{token} is beyond the largest float")
    return value


def checked_integer(value: int) -> int:
    """The value if it fits in 64 bits."""
    if not limits.INT_MIN <= value <= limits.INT_MAX:
        raise CallerError(f"{hex(value) if abs(value) > 10**40 else value} does not fit in 64 bits")
    return value


def nearest(name: str, names: Iterable[str]) -> str | None:
    """A hint with the known name most like this one."""
    found = get_close_matches(name, list(names), 1)
    return f"did you mean {found[0]!r}?" if found else None
