"""Segments: Parquet files, written under a hidden name, synced, and renamed right before their head comes."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from agvent import limits
from agvent.errors import LogFileError
from agvent.store.heads import Ranges, Segment, checksum
from agvent.store.log_schema import TableForm
from agvent.store.sync_folder import sync_folder

HIDDEN: Final = ".partial"


class Staged(msgspec.Struct, frozen=True):
    """A file that is on disk under its hidden name; `segment` has the name it will get."""

    hidden: Path
    segment: Segment


def partial_path(path: Path) -> Path:
    """The hidden name: Spark, DuckDB, Polars and pandas read no file whose name begins with a dot."""
    return path.with_name(f".{path.name}{HIDDEN}")


def stage_table(log: Path, path: str, table: Any, *, form: TableForm, since: int) -> Staged:
    """Writes rows to a hidden file and says what will be in the head."""

    def write(hidden: Path) -> None:
        options = {"compression": "zstd", "row_group_size": limits.ROW_GROUP_ROWS}
        pq.write_table(table, hidden, store_schema=False, **options)

    return stage_file(log, path, write, rows=table.num_rows, ranges=ranges_of(table, form), since=since)


def stage_file(
    log: Path, path: str, write: Callable[[Path], None], *, rows: int, since: int, ranges: Ranges | None = None
) -> Staged:
    """Lets `write` make a hidden file, syncs it, and says what will be in the head."""
    hidden = partial_path(log / path)
    hidden.parent.mkdir(parents=True, exist_ok=True)
    write(hidden)
    data = hidden.read_bytes()
    with hidden.open("rb") as written:
        os.fsync(written.fileno())
    named = Segment(path=path, since=since, rows=rows, bytes=len(data), crc32=checksum(data), ranges=ranges or {})
    return Staged(hidden, named)


def publish(log: Path, staged: list[Staged]) -> None:
    """Gives staged files their names. Until the head names them too, only a reader by glob can see them."""
    folders = set()
    for file in staged:
        target = log / file.segment.path
        os.replace(file.hidden, target)
        folders |= {folder for folder in target.parents if folder.is_relative_to(log)}
    for folder in sorted(folders):
        sync_folder(folder)


def ranges_of(table: Any, form: TableForm) -> Ranges:
    """For each broker its rows, and the least and greatest value of each ranged column."""
    if not form.broker or not table.num_rows:
        return {}
    wanted = [(column, kind) for column in form.ranged for kind in ("min", "max")]
    grouped = table.group_by(form.broker).aggregate([*wanted, (form.broker, "count")]).to_pylist()
    return {
        row[form.broker]: {
            "rows": row[f"{form.broker}_count"],
            **{column: [_plain(row[f"{column}_{kind}"]) for kind in ("min", "max")] for column in form.ranged},
        }
        for row in grouped
    }


def _plain(value: Any) -> Any:
    """Times as text of one width, so that text compares as time does."""
    return value.astimezone(UTC).isoformat(timespec="microseconds") if isinstance(value, datetime) else value


def read_segment(log: Path, segment: Segment, columns: list[str] | None = None) -> Any:
    """The rows of a segment, or a LogFileError that names it."""
    path = log / segment.path
    try:
        table = pq.read_table(path, columns=columns, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise LogFileError(f"cannot read the segment {path}: {error}", hint=f"agvent log verify {log}") from None
    if table.num_rows != segment.rows:
        raise LogFileError(f"the segment {path} has {table.num_rows} rows, its head says {segment.rows}")
    return table


def rows_in(path: Path) -> int:
    """How many rows a Parquet file says it has."""
    return int(pq.read_metadata(path).num_rows)
