"""Matches into a folder of Parquet files, which is there whole or not at all, and what was found on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from pyarrow import fs

from agvent.errors import CallerError
from agvent.spark.complaints import told, unanswered
from agvent.spark.faults import faults
from agvent.spark.files import system_of
from agvent.spark.matcher import COMPLAINT, EVENT

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNFINISHED = "_temporary"
"""Where Spark keeps what is not committed; a folder with nothing else in it is what a killed job left."""


class Written(msgspec.Struct, frozen=True):
    """Counts of a job that wrote matches, and one example of what it had to complain about."""

    matches: int
    unanswered: int
    rejected: int
    example: str | None


def check_free(out: str) -> None:
    """Refuses a folder with something in it: nothing is overwritten, and no two results are mixed."""
    system, inside = system_of(out)
    info = system.get_file_info(inside)
    if info.type == fs.FileType.File:
        raise CallerError(f"{out} is a file, and the matches are a folder of files")
    if info.type == fs.FileType.Directory:
        names = {one.base_name for one in system.get_file_info(fs.FileSelector(inside))}
        if names - {UNFINISHED}:
            raise CallerError(f"{out} is there already", hint="name another folder, or remove it")


def write_matches(pairs: DataFrame, out: str) -> Written:
    """Writes the rows that are matches, without their complaint, and counts the others.

    Spark moves the files of all tasks to their place when the last one has ended; a job that fails leaves none.
    """
    from pyspark.sql import Observation
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

    complaint, named = F.col(COMPLAINT), F.col("subscription").isNotNull()
    seen = Observation()
    observed = pairs.observe(
        seen,
        F.count(F.when(complaint.isNull(), 1)).alias("matches"),
        F.count(F.when(~named, 1)).alias("rejected"),
        *unanswered(F.col(EVENT)),
    )
    with faults():
        observed.where(complaint.isNull()).drop(COMPLAINT).write.mode("overwrite").parquet(out)
        found = seen.get
    return Written(found["matches"], found["unanswered"], found["rejected"], told(found["example"]))
