"""Numbers among the arguments, with their bounds: what is not between them is a mistake that names them."""

from __future__ import annotations

import argparse
from collections.abc import Callable


def above_zero(most: float) -> Callable[[str], float]:
    """Reads a number above 0, up to this one.

    >>> above_zero(10)("0.5")
    0.5
    """

    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value <= most:  # nor is nan
            raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0, up to {most:,}")
        return value

    return number


def whole(least: int, most: int) -> Callable[[str], int]:
    """Reads a whole number between two others, these included.

    >>> whole(1, 10)("3")
    3
    """

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least:,} to {most:,}")
        return value

    return number
