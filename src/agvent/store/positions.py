"""Positions: the places of rows in the order of one broker, without a gap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from agvent.errors import LogError
from agvent.store.log_schema import TableForm


def positions(tables: list[Any], ends: dict[str, int]) -> tuple[list[Any], dict[str, int]]:
    """The positions of events in some tables of one commit, and where each entry broker's events end after it.

    Events of one broker are placed by `accepted_at`, and by the order in which they are given where that is equal.
    """
    if not tables:
        return [], ends
    brokers = pa.chunked_array([chunk for table in tables for chunk in table["entry_broker"].chunks], pa.string())
    times = np.concatenate([table["accepted_at"].cast(pa.int64()).to_numpy() for table in tables])
    if brokers.null_count:
        raise LogError("events: the column 'entry_broker' has a null in it, and none is allowed")
    coded = brokers.combine_chunks().dictionary_encode()
    names, codes = coded.dictionary.to_pylist(), coded.indices.to_numpy()
    order = np.lexsort((times, codes))
    counts = np.bincount(codes, minlength=len(names))
    begins = np.concatenate(([0], np.cumsum(counts)[:-1]))
    start = np.array([ends.get(name, 0) for name in names], np.int64)
    placed = np.empty(len(codes), np.int64)
    placed[order] = np.arange(len(codes)) - begins[codes[order]] + start[codes[order]]
    cuts = np.cumsum([table.num_rows for table in tables])[:-1]
    after = ends | {name: int(start[i] + counts[i]) for i, name in enumerate(names)}
    return [pa.array(part) for part in np.split(placed, cuts)], after


def check_continues(table: Any, form: TableForm, column: str, last: dict[str, int]) -> None:
    """Refuses rows whose numbers for a broker do not go on from the last one without a gap."""
    unique = table.group_by([form.broker, column]).aggregate([])
    for row in (
        unique.group_by(form.broker).aggregate([(column, "min"), (column, "max"), (column, "count")]).to_pylist()
    ):
        broker, first = row[form.broker], last.get(row[form.broker], 0) + 1
        if row[f"{column}_min"] != first or row[f"{column}_max"] - first + 1 != row[f"{column}_count"]:
            raise LogError(
                f"{form.name}: the {column}s of {broker!r} are not {first}, {first + 1}, … without a gap",
                hint=f"they go from {row[f'{column}_min']} to {row[f'{column}_max']}, {row[f'{column}_count']} of them",
            )


def ranks(groups: Any) -> Any:
    """For each row its place among the earlier rows of its group, from 0."""
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    begins = np.concatenate(([True], ordered[1:] != ordered[:-1]))
    starts = np.maximum.accumulate(np.where(begins, np.arange(len(groups)), 0))
    placed = np.empty(len(groups), np.int64)
    placed[order] = np.arange(len(groups)) - starts
    return placed
