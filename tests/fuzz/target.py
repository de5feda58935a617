"""What a target is, and its bounds on time and memory."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, NamedTuple

from agvent.errors import AgventError

Input = str | bytes

UNIT_S: Final = 20e-6
MEMORY_BYTES_MAX: Final = 512 << 20
"""What the process may grow by while it tries one input: compiling the kernels takes some 300 MB of it, once."""


class Target(NamedTuple):
    """A parser or decoder under test. The CPU time of one input is at most `base_s` and `unit_s` for each character or
    byte of it, all checks included, and what `work_s` adds; `share` is its part of the inputs of a long run."""

    draw: Callable[[Random], Any]
    check: Callable[[Any], bool]
    base_s: float = 0.01
    unit_s: float = UNIT_S
    work_s: Callable[[Any], float] | None = None
    share: int = 1

    def bound_s(self, given: Input, took_s: float) -> float:
        """The bound of an input that took so long: what is within the cheaper part is not asked for its work."""
        bound = self.base_s + self.unit_s * len(given)
        return bound if took_s <= bound or self.work_s is None else bound + self.work_s(given)


def refused(error: AgventError) -> bool:
    """An error of ours can be shown: it is text that any terminal and file can take."""
    str(error).encode()
    (error.hint or "").encode()
    return False
