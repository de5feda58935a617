"""`agvent spark`: the data pipeline on Spark, one file of this folder per stage."""

from __future__ import annotations

import argparse

from agvent.cli import (
    spark_analyse,
    spark_audit,
    spark_discover,
    spark_dispatch,
    spark_doctor,
    spark_match,
    spark_replay,
)

SUMMARY = "run the data pipeline on Spark"

DESCRIPTION = """\
Run a stage of the data pipeline on Spark: on all cores of this machine, or on
the cluster that --master names.
"""

EPILOG = """\
examples:
  agvent spark doctor
  agvent spark match subscriptions.jsonl events.jsonl --out matches
  agvent spark dispatch day --once
  agvent spark replay day "price > 100" --type Quote --since 2026-03-01 --out expensive
  agvent spark audit day
  agvent spark analyse day --out report

For the options of a stage: agvent spark STAGE --help
"""

STAGES = {
    "match": spark_match,
    "dispatch": spark_dispatch,
    "replay": spark_replay,
    "audit": spark_audit,
    "analyse": spark_analyse,
    "discover": spark_discover,
    "doctor": spark_doctor,
}


def configure(parser: argparse.ArgumentParser) -> None:
    formatter = argparse.RawDescriptionHelpFormatter
    stages = parser.add_subparsers(title="stages", metavar="STAGE", required=True)
    for name, stage in STAGES.items():
        stage.configure(
            stages.add_parser(
                name,
                help=stage.SUMMARY,
                description=stage.DESCRIPTION,
                epilog=stage.EPILOG,
                formatter_class=formatter,
            )
        )
