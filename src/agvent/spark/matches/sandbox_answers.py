"""The answers of logged agvents to filters that did not exist when they were published.

A worker that is given the key of the network's sandbox hosts counts as one: it has the code and the cargoes from the
log, and runs the programs in its own Monty workers. Hidden attributes stay in them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
from msgspec.structs import replace

from agvent.agents.execution.ask import AskedAgvent, asked
from agvent.agents.execution.signed_programs import Programs, decode_code
from agvent.errors import AdmissionError
from agvent.event import Cargo, Event
from agvent.matching.columns.arrays import I64
from agvent.matching.index.search import SearchResult
from agvent.sandbox.host import SandboxHost
from agvent.sandbox.key_file import host_keys
from agvent.spark.matches.recorded_answers import KEY, files_of, rows_near
from agvent.spark.rosters.roster import Roster
from agvent.store.event_columns import records_of
from agvent.store.log_reader import LogReader
from agvent.types import AgventType
from agvent.wire.codec import encode_event

READ = [*KEY, "program", "hidden", "sealed", "opaque"]


class SandboxAnswers:
    """Where cargoes, code and key are; made on the driver, asked in the tasks."""

    def __init__(self, reader: LogReader, key_file: str | os.PathLike[str]) -> None:
        self.files = files_of(reader, "cargoes")
        self.code = tuple(row["code"] for row in reader.table("programs").to_pylist())
        self.key_file = str(Path(key_file).absolute())
        host_keys(Path(self.key_file))  # a mistake is found before Spark works for long

    def matched(self, roster: Roster, table: pa.Table, type_: AgventType, name: str | None) -> tuple[I64, SearchResult]:
        """The rows that are agvents, and what matches each, by what it answers."""
        cargoes = self._cargoes(table)
        rows = np.array(list(cargoes), np.int64)
        records = records_of(table.take(pa.array(rows)), type_, name)
        events = [replace(one.event, cargo=cargo) for one, cargo in zip(records, cargoes.values(), strict=True)]
        came = [AskedAgvent(publisher_of(event), encode_event(event)) for event in events]
        found: list[list[str]] = []
        if came:
            host = host_of(self.key_file, self.code)
            found, _ = asked(came, lambda number, known: roster.index.match(events[number], known), host)
        ordinals = np.array([roster.ordinals[id] for ids in found for id in ids], np.int32)
        return rows, SearchResult(ordinals, np.cumsum([len(ids) for ids in found], dtype=np.int64))

    def _cargoes(self, table: pa.Table) -> dict[int, Cargo]:
        """The cargo of each row that has one."""
        rows = {key: row for row, key in enumerate(zip(*(table[name].to_pylist() for name in KEY), strict=True))}
        found: dict[int, Cargo] = {}
        for one in rows_near(self.files, table, READ):
            row = rows.get(tuple(one[name] for name in KEY))
            if row is not None:
                opaque = tuple(one["opaque"] or ())
                found[row] = Cargo(one["program"], one["hidden"] or b"", one["sealed"] or b"", opaque)
        return found


def publisher_of(event: Event) -> str:
    assert event.id is not None, "an event of the log has an id"
    return event.id.publisher


@cache
def host_of(key_file: str, code: Sequence[bytes]) -> SandboxHost:
    """This worker's sandbox host, for as long as the worker lives. What does not load is a fault when it is called."""
    host = SandboxHost(Programs(), host_keys(Path(key_file)), workers=1).__enter__()
    for content in code:
        signed = decode_code(content)
        host.programs.grant(signed.principal, signed.key)
        try:
            host.programs.admit(signed)
        except AdmissionError:
            continue
    return host
