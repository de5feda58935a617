"""The tests that Spark pushed down to the files, from its plan."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout

from pyspark.sql import DataFrame

PUSHED = re.compile(r"^PushedFilters: \[(.*)\]$", re.MULTILINE)


def pushed_filters(frame: DataFrame) -> list[str]:
    """The tests that each scan of files is given, in Spark's own words; a scan that is given none is left out."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        frame.explain("formatted")
    return PUSHED.findall(printed.getvalue())
