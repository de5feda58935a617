"""A process whose wall clock is as many seconds off as a file says, now: Python runs this at its start.

What it measures time with is another clock, which nobody sets; so it is on a machine.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_file = Path(os.environ["AGVENT_TEST_CLOCK"])
_time, _time_ns = time.time, time.time_ns


def _off_s() -> int:
    return int(_file.read_text() or 0)


time.time = lambda: _time() + _off_s()
time.time_ns = lambda: _time_ns() + _off_s() * 10**9
