"""Spark's errors as ours."""

from __future__ import annotations

import pytest

from agvent.errors import AgventError, CallerError, EventError, SparkFault
from agvent.spark.runtime.spark_errors import error_in

TRACE = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "lines.py", line 1, in _matched
    raise EventError(message)
agvent.errors.{kind}: {message}

	at org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1)
"""


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (TRACE.format(kind="EventError", message="e.jsonl line 3: no JSON"), EventError, "e.jsonl line 3: no JSON"),
        (TRACE.format(kind="FilterError", message="a >> b"), CallerError, "a >> b"),
        ("Cannot call methods on a stopped SparkContext.", SparkFault,
         "the cluster ended the job: its master or all of its workers stopped answering"),
        ("\n  [OUT] of disk\n more", SparkFault, "the Spark job failed: [OUT] of disk"),
    ],
)  # fmt: skip
def test_a_failed_job_says_whose_fault_it_was(text: str, error: type[AgventError], message: str) -> None:
    """An error of ours from a worker comes back as itself; everything else is a fault of Spark's."""
    found = error_in(text)
    assert (type(found), found.message) == (error, message)
