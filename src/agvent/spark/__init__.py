"""The data pipeline on Spark: stages as functions from DataFrames to DataFrames.

Rules of the room: the matcher is the kernel of `matching/`, and nothing about filters is written twice; a stage uses no
SparkContext and no RDD, so that it also runs through Spark Connect; only this room and `cli/` import pyspark, and only
inside the functions that need it, because it takes a second.
"""

from agvent.spark.count import count_matches
from agvent.spark.match import match
from agvent.spark.session import session

__all__ = ["count_matches", "match", "session"]
