"""A folder that is there whole or not at all: the one way in which this room writes results.

The files are written into a folder beside the target, under a hidden name that every reader ignores. When all of them
are there, they are synced, and the folder is renamed. A failure removes the hidden folder. A process that is killed
leaves it, and the next one that writes the same target clears it. In an object store a rename is a copy: there the
target can be seen while it grows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from pyarrow import fs

from agvent.errors import CallerError, EnvironmentFault
from agvent.spark.files.file_slices import listed, row_count, system_of
from agvent.spark.runtime.spark_errors import translated_errors
from agvent.store.segments import partial_path
from agvent.store.sync_folder import sync_folder

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def check_free(out: str) -> None:
    """Refuses a folder with something in it: nothing is overwritten, and no two results are mixed."""
    system, inside = system_of(out)
    info = system.get_file_info(inside)
    if info.type == fs.FileType.File:
        raise CallerError(f"{out} is a file, not a folder", hint="name another folder, or remove the file")
    if info.type == fs.FileType.Directory and system.get_file_info(fs.FileSelector(inside)):
        raise CallerError(f"{out} exists and is not empty", hint="name another folder, or remove it")


@contextmanager
def output_folder(out: str) -> Iterator[str]:
    """Gives the hidden folder to write into. At the end of the block it becomes `out`, or on an error nothing."""
    check_free(out)
    staging = hidden(out)
    system, inside = system_of(staging)
    _, target = system_of(out)
    try:
        system.create_dir(inside)
        system.delete_dir_contents(inside)  # left by a process that was killed
        try:
            yield staging
        except BaseException:
            with suppress(OSError):  # tasks of a cancelled job may still write into it
                system.delete_dir(inside)
            raise
        if isinstance(system, fs.LocalFileSystem):
            _sync(Path(inside))
        if system.get_file_info(target).type == fs.FileType.Directory:
            system.delete_dir(target)  # check_free: it is empty
        system.move(inside, target)
        if isinstance(system, fs.LocalFileSystem):
            sync_folder(Path(target).parent)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {out}: {error.strerror or error}") from error


def hidden(out: str) -> str:
    """The folder's name while it is written: beside it, so that moving is renaming."""
    scheme, mark, path = out.rpartition("://")
    place = partial_path(Path(PurePosixPath(path.rstrip("/")) if scheme else Path(path).resolve()))
    return f"{scheme}{mark}{place}"


def _sync(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            with Path(place, name).open("rb") as file:
                os.fsync(file.fileno())
        sync_folder(Path(place))


def write_frames(parts: Iterable[tuple[str, DataFrame]], out: str) -> dict[str, int]:
    """Writes each frame as Parquet below its own folder of `out`, and counts its rows; `""` is `out` itself."""
    counts: dict[str, int] = {}
    with output_folder(out) as staging:
        for folder, frame in parts:
            with translated_errors():
                frame.write.mode("overwrite").parquet(f"{staging}/{folder}", compression="zstd")
            counts[folder] = row_count(listed(f"{staging}/{folder}"))
    return counts
