"""Questions that were not answered, counted while a job runs; one of them is kept to be shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from agvent.spark.matches.pairs import COMPLAINT

if TYPE_CHECKING:
    from pyspark.sql import Column


def unanswered(event: Column) -> list[Column]:
    """What `observe` is to gather of rows with a `subscription` and a `complaint`: `unanswered` and `example`.

    A complaint without a subscription is about an event that could not be read.
    """
    from pyspark.sql import functions as F  # noqa: N812 - Spark's own short name for them

    complains = F.col(COMPLAINT).isNotNull()
    named = F.col("subscription").isNotNull()
    return [
        F.count(F.when(complains & named, 1)).alias("unanswered"),
        F.min(F.when(complains, F.struct(event.alias("event"), "subscription", COMPLAINT))).alias("example"),
    ]


def in_words(example: Iterable[object] | None) -> str | None:
    """The values of `example` in words."""
    if example is None:
        return None
    event, subscription, complaint = example
    asked = f", subscription {subscription}" if subscription is not None else ""
    return f"event {event}{asked}: {complaint}"
