"""The process that Spark forks its Python workers from, with the matcher in it.

Importing the matcher and its compiled kernels takes a second; a forked worker has them. Spark starts this module in
place of its own where `spark.python.daemon.module` names it.
"""

from __future__ import annotations

import pyarrow  # noqa: F401 - imported to be inherited
from pyspark.daemon import manager

import agvent.matching.encoders.arrow
import agvent.matching.index.in_force
import agvent.store.index_file  # noqa: F401

if __name__ == "__main__":
    manager()
