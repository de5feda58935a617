"""An analysis as a folder: report.html, and each table as Parquet and CSV. The folder is there whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq

from agvent.spark.analysis.analyse import Analysis
from agvent.spark.analysis.report_page import report
from agvent.spark.audits.audit import AuditVerdict
from agvent.spark.files.output_folder import output_folder
from agvent.spark.runtime.spark_errors import translated_errors

PAGE = "report.html"
TEXTS = pa.list_(pa.string())


def write_report(analysis: Analysis, out: Path) -> tuple[AuditVerdict | None, dict[str, pa.Table]]:
    """Runs the analysis, writes it, and gives its verdict and tables."""
    with translated_errors():
        tables = {name: frame.toArrow() for name, frame in analysis.tables().items()}
    verdict = analysis.audit.verdict if analysis.audit is not None else None
    with output_folder(str(out)) as staging:
        for name, table in tables.items():
            pq.write_table(table, f"{staging}/{name}.parquet")
            csv.write_csv(_flat(table), f"{staging}/{name}.csv")
        Path(staging, PAGE).write_text(report(str(analysis.reader.path), tables, verdict), encoding="utf-8")
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
