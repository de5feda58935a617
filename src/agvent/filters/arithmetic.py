"""Arithmetic on the numbers of events, in the oracle's words.

Anything but two numbers has no result, which is null; nor has a division by zero. Integers stay integers: two of 32
bits (Elvin's) give one of 32 bits if it fits and else one of 64, and beyond 64 bits there is no result. With a float on
either side the result is a float. The bitwise operators are for integers and work, as Java's do, on 32 bits if both
sides have 32 and else on 64; a shift counts its distance modulo that width.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from agvent import limits
from agvent.event import Int32, Kind, kind_of

BITWISE: Final = ("&", "|", "^", "<<", ">>", ">>>")


def computed(op: str, left: Any, right: Any) -> int | float | None:
    """The result of an operator, or null."""
    if kind_of(left) is not Kind.NUMBER or kind_of(right) is not Kind.NUMBER:
        return None
    whole = isinstance(left, int) and isinstance(right, int)
    if op in BITWISE:
        return _bitwise(op, left, right) if whole else None
    if op in ("/", "%") and right == 0:
        return None
    if not whole:
        return FLOAT_OPS[op](float(left), float(right))
    return _fitting(INTEGER_OPS[op](left, right), _are_narrow(left, right))


def _fitting(exact: int, narrow: bool) -> int | None:
    if narrow and limits.INT32_MIN <= exact <= limits.INT32_MAX:
        return Int32(exact)
    return exact if limits.INT_MIN <= exact <= limits.INT_MAX else None


def _are_narrow(left: int, right: int) -> bool:
    return isinstance(left, Int32) and isinstance(right, Int32)


def _bitwise(op: str, left: int, right: int) -> int:
    narrow = _are_narrow(left, right)
    width = 32 if narrow else 64
    distance = int(right) & (width - 1)
    match op:
        case "&":
            bits = int(left) & int(right)
        case "|":
            bits = int(left) | int(right)
        case "^":
            bits = int(left) ^ int(right)
        case "<<":
            bits = int(left) << distance
        case ">>":
            bits = int(left) >> distance
        case _:
            bits = (int(left) & ((1 << width) - 1)) >> distance
    sign = 1 << (width - 1)
    wrapped = (bits + sign) % (1 << width) - sign
    return Int32(wrapped) if narrow else wrapped


def _java_divided(a: int, b: int) -> int:
    """Java's integer division drops the fraction; Python's rounds down."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _java_remainder(a: int, b: int) -> int:
    """What division leaves: it has the sign of what was divided."""
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


INTEGER_OPS: Final[dict[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _java_divided,
    "%": _java_remainder,
}
FLOAT_OPS: Final[dict[str, Callable[[float, float], float]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "%": lambda a, b: math.fmod(a, b) if math.isfinite(a) else math.nan,
}
