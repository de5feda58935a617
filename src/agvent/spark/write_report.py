"""An analysis as a folder: report.html, and each table as Parquet and CSV. The folder is there whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from agvent.errors import EnvironmentFault
from agvent.spark.analyse import Analysis
from agvent.spark.audit import Verdict
from agvent.spark.faults import faults
from agvent.spark.report import report

PAGE = "report.html"
TEXTS = pa.list_(pa.string())


def write_report(analysis: Analysis, out: Path) -> tuple[Verdict | None, dict[str, pa.Table]]:
    """Runs the analysis and writes it; what it found."""
    with faults():
        tables = {name: frame.toArrow() for name, frame in analysis.tables().items()}
    verdict = analysis.audit.verdict if analysis.audit is not None else None
    partial = out.with_name(f".{out.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        for name, table in tables.items():
            pq.write_table(table, partial / f"{name}.parquet")
            csv.write_csv(_flat(table), partial / f"{name}.csv")
        (partial / PAGE).write_text(report(str(analysis.reader.path), tables, verdict), encoding="utf-8")
        if out.exists():
            out.rmdir()
        partial.rename(out)
    except OSError as error:
        raise EnvironmentFault(f"cannot write {out}: {error.strerror}") from None
    return verdict, tables


def _flat(table: pa.Table) -> pa.Table:
    """Lists as texts with spaces, which CSV can hold."""
    columns: dict[str, Any] = {
        field.name: pc.binary_join(table[field.name].cast(TEXTS), " ")
        if pa.types.is_list(field.type)
        else table[field.name]
        for field in table.schema
    }
    return pa.table(columns)
