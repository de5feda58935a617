"""A roster's way to the workers: a file in a folder that they all see, or one that Spark carries to them.

On this machine's own cores the driver's file serves. Elsewhere Spark copies it to every node once, as an artifact,
which works through Spark Connect too; a folder on a shared disk saves that copy. A worker maps the file when it first
needs it and keeps the map: the name is the hash of the content, so what is mapped is never stale.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from agvent.errors import IndexFileError
from agvent.spark.rosters.roster import Roster
from agvent.spark.runtime.session import is_local
from agvent.spark.runtime.workspace import workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEPT = 4
"""Rosters a worker keeps mapped: a stream whose subscriptions change goes from one to the next."""


class Shipment(NamedTuple):
    """Where a worker finds a roster: at `path`, or under its name among the files that Spark carried."""

    path: str
    carried: bool


def ship(spark: SparkSession, roster: Roster, *, shared: str | None = None) -> Shipment:
    """Puts a roster where the workers of a session can map it; `shared` is a folder that they all see."""
    if shared is not None:
        Path(shared).mkdir(parents=True, exist_ok=True)
        return Shipment(str(roster.save(Path(shared))), carried=False)
    path = str(roster.save(workspace()))
    if is_local(spark):
        return Shipment(path, carried=False)
    spark.addArtifacts(path, file=True)
    return Shipment(path, carried=True)


@lru_cache(KEPT)
def received(shipment: Shipment) -> Roster:
    """The roster, in a worker."""
    if not shipment.carried:
        try:
            return Roster.open(shipment.path)
        except IndexFileError as error:
            hint = "is the folder given as `shared` the same on every machine?"
            raise IndexFileError(f"a worker: {error.message}", hint=hint) from error
    from pyspark.core.files import SparkFiles

    return Roster.open(SparkFiles.get(Path(shipment.path).name))
