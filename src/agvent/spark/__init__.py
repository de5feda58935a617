"""The data pipeline on Spark: stages as functions from DataFrames to DataFrames.

    runtime ─▶ files ─▶ rosters ─▶ matches ─▶ log ─▶ streams
                                      │        └───▶ audits ─▶ analysis
    pushdown ───────────────────────▶ replays ─▶ discovery

A folder imports those before it. tests/architecture/test_spark_layers.py holds this order.

Rules of the room: the matcher is the kernel of `matching/`, and nothing about filters is written twice; a stage uses no
SparkContext and no RDD, so that it also runs through Spark Connect; only this room and `cli/` import pyspark, and only
inside the functions that need it, because it takes a second. Modules made of columns, or with classes of pyspark's
kinds, import it at their top, and are themselves imported when a name of theirs is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agvent.spark.matches.count_matches import count_matches
from agvent.spark.matches.match import match
from agvent.spark.runtime.session import session
from agvent.spark.streams.dispatch import dispatch
from agvent.spark.streams.register import register

if TYPE_CHECKING:
    from agvent.spark.analysis.analyse import Analysis, analyse
    from agvent.spark.audits.audit import Audit, AuditVerdict, DeliveryTally, audit
    from agvent.spark.discovery.discover import discover
    from agvent.spark.pushdown.to_column import to_column
    from agvent.spark.replays.log_replay import replay_log
    from agvent.spark.replays.table_replay import Window, replay
else:
    _HOMES = {
        "Analysis": "agvent.spark.analysis.analyse",
        "Audit": "agvent.spark.audits.audit",
        "AuditVerdict": "agvent.spark.audits.audit",
        "DeliveryTally": "agvent.spark.audits.audit",
        "Window": "agvent.spark.replays.table_replay",
        "analyse": "agvent.spark.analysis.analyse",
        "audit": "agvent.spark.audits.audit",
        "discover": "agvent.spark.discovery.discover",
        "replay": "agvent.spark.replays.table_replay",
        "replay_log": "agvent.spark.replays.log_replay",
        "to_column": "agvent.spark.pushdown.to_column",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'agvent.spark' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


__all__ = [
    "Analysis",
    "Audit",
    "AuditVerdict",
    "DeliveryTally",
    "Window",
    "analyse",
    "audit",
    "count_matches",
    "discover",
    "dispatch",
    "match",
    "register",
    "replay",
    "replay_log",
    "session",
    "to_column",
]
