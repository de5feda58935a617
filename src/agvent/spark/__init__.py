"""The data pipeline on Spark: stages as functions from DataFrames to DataFrames.

Rules of the room: the matcher is the kernel of `matching/`, and nothing about filters is written twice; a stage uses no
SparkContext and no RDD, so that it also runs through Spark Connect; only this room and `cli/` import pyspark, and only
inside the functions that need it, because it takes a second. Modules made of columns, or with classes of pyspark's
kinds, import it at their top, and are themselves imported when a name of theirs is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agvent.spark.count import count_matches
from agvent.spark.dispatch import dispatch
from agvent.spark.match import match
from agvent.spark.register import register
from agvent.spark.session import session

if TYPE_CHECKING:
    from agvent.spark.discovery import discover
    from agvent.spark.pushdown import to_column
    from agvent.spark.replay_frame import Window, replay
    from agvent.spark.replay_log import replay_log
else:
    _HOMES = {
        "Window": "agvent.spark.replay_frame",
        "discover": "agvent.spark.discovery",
        "replay": "agvent.spark.replay_frame",
        "replay_log": "agvent.spark.replay_log",
        "to_column": "agvent.spark.pushdown",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'agvent.spark' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


__all__ = [
    "Window",
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
