"""Matches into a folder of Parquet files, which is there whole or not at all, and what was found on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from agvent.spark.files.output_folder import output_folder
from agvent.spark.matches.pairs import COMPLAINT, EVENT
from agvent.spark.matches.unanswered import in_words, unanswered
from agvent.spark.runtime.spark_errors import translated_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


class MatchCounts(msgspec.Struct, frozen=True):
    """Counts of a job that wrote matches, and one example of its complaints."""

    matches: int
    unanswered: int
    rejected: int
    example: str | None


def write_matches(pairs: DataFrame, out: str) -> MatchCounts:
    """Writes the rows that are matches, without their complaint, and counts the others.

    A job that fails leaves nothing (files/output_folder.py).
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
    with output_folder(out) as staging, translated_errors():
        observed.where(complaint.isNull()).drop(COMPLAINT).write.mode("overwrite").parquet(staging)
        found = seen.get
    return MatchCounts(found["matches"], found["unanswered"], found["rejected"], in_words(found["example"]))
