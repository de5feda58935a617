r"""The words of Elvin's subscription language (Elvin 4, appendix A): names, numbers, strings, operators.

A name goes on to the next blank, quote, comma, parenthesis or bracket, so `a-b` and `a==b` are names; a backslash puts
any character into a name or a string.
"""

from __future__ import annotations

import math
import re
from enum import Enum
from typing import Final, NamedTuple

from agvent import limits
from agvent.errors import CallerError
from agvent.event import Int32

NAME_FIRST: Final = r"[A-Za-z_\x80-\U0010ffff]"
NAME_REST: Final = r"""[^\x00-\x20"'(),\[\\\]\x7f]"""
TOKEN: Final = re.compile(
    rf"""[ \t\r\n]*+(?:
        (?P<name>(?:{NAME_FIRST}|\\.)(?:{NAME_REST}|\\.)*+)
      | (?P<number>[0-9]++\.[0-9]++[eE][+-][0-9]++[0-9A-Za-z_.]*+|[0-9][0-9A-Za-z_.]*+)
      | (?P<string>"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+')
      | (?P<operator>&&|\|\||\^\^|==|!=|<=|>=|<<|>>>|>>|[-+*/%&|^~!<>(),])
      | (?P<stray>[^ \t\r\n])
    )""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
NUMBER: Final = re.compile(
    r"""(?P<real>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?)
      | (?:(?P<hex>0[xX][0-9a-fA-F]+)|(?P<octal>0[0-7]+)|(?P<decimal>0|[1-9][0-9]*))(?P<long>[lL])?""",
    re.VERBOSE,
)
INTEGER_CHARS_MAX: Final = 24
"""The longest 64-bit integer, in octal and with its L; a longer text is not converted."""

BASES: Final = {"hex": 16, "octal": 8, "decimal": 10}


class Sort(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    OPERATOR = "operator"
    STRAY = "stray"
    END = "end"


SORTS: Final = {sort.value: sort for sort in Sort}


class ElvinToken(NamedTuple):
    sort: Sort
    text: str
    position: int

    def is_operator(self, *texts: str) -> bool:
        return self.sort is Sort.OPERATOR and self.text in texts


def tokens_of(text: str) -> list[ElvinToken]:
    """The tokens, with one for the end after the last character that is not blank."""
    tokens = []
    for found in TOKEN.finditer(text):
        sort = found.lastgroup
        assert sort is not None
        tokens.append(ElvinToken(SORTS[sort], found[sort], found.start(sort)))
    tokens.append(ElvinToken(Sort.END, "", len(text.rstrip(" \t\r\n"))))
    return tokens


def unescaped(text: str) -> str:
    """The characters of a name, or of what stands between a string's quotes."""
    return ESCAPE.sub(r"\1", text) if "\\" in text else text


def number_of(token: str, *, negative: bool = False) -> int | float:
    """The value of a number: real64, int64 with L, else int32. The sign comes in: the least has no positive twin."""
    found = NUMBER.fullmatch(token)
    if not found:
        raise CallerError(f"{token[:40]!r} is not a number", hint="write 12, 0x1F, 017, 12L, 7.0 or 7.0e3")
    if found["real"]:
        real = float(token)
        if math.isinf(real):
            raise CallerError(f"{token[:40]} is beyond the largest real64")
        return -real if negative else real
    base = next(name for name in BASES if found[name])
    if len(token) > INTEGER_CHARS_MAX:
        raise CallerError(f"{token[:40]} does not fit in 64 bits")
    exact = int(found[base], BASES[base])
    exact = -exact if negative else exact
    if found["long"]:
        return _fitting(exact, token, 64, limits.INT_MIN, limits.INT_MAX)
    return Int32(_fitting(exact, token, 32, limits.INT32_MIN, limits.INT32_MAX))


def _fitting(exact: int, token: str, bits: int, least: int, greatest: int) -> int:
    if least <= exact <= greatest:
        return exact
    fits_long = bits == 32 and limits.INT_MIN <= exact <= limits.INT_MAX
    raise CallerError(f"{token[:40]} does not fit in {bits} bits", hint=f"write {token}L" if fits_long else None)
