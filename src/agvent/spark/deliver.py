"""The results of a stage as a folder of Parquet files, which appears whole or not at all."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pyarrow import fs

from agvent.spark.faults import faults
from agvent.spark.files import listed, row_count, system_of
from agvent.spark.write import check_free

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def deliver(parts: Iterable[tuple[str, DataFrame]], out: str) -> dict[str, int]:
    """Writes each frame below its own folder of `out`, and gives the rows of each; `""` is `out` itself.

    Everything is written beside `out` under a hidden name and moved there at the end.
    """
    check_free(out)
    staging = hidden(out)
    system, inside = system_of(staging)
    system.create_dir(inside)
    system.delete_dir_contents(inside)  # what a killed job left
    counts: dict[str, int] = {}
    for folder, frame in parts:
        with faults():
            frame.write.mode("overwrite").parquet(f"{staging}/{folder}", compression="zstd")
        counts[folder] = row_count(listed(f"{staging}/{folder}"))
    _, target = system_of(out)
    if system.get_file_info(target).type == fs.FileType.Directory:
        system.delete_dir(target)  # check_free: it is empty, or what a killed job left
    system.move(inside, target)
    return counts


def hidden(out: str) -> str:
    """The folder's name while it is written: beside it, so that moving is renaming, and ignored by every reader."""
    scheme, mark, path = out.rpartition("://")
    place = PurePosixPath(path.rstrip("/") if scheme else Path(path).resolve())
    return f"{scheme}{mark}{place.with_name(f'.{place.name}.partial')}"
