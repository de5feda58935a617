"""Spark's errors as ours: a mistake of the caller, or a fault of the cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from agvent import errors
from agvent.errors import AgventError, CallerError, SparkFault

OURS = re.compile(r"^agvent\.errors\.(\w+): (.*?)(?=^\s*at |^\S*Exception|^ ?SQLSTATE|\Z)", re.MULTILINE | re.DOTALL)
"""The last line of a worker's traceback, if it is one of our errors, and what follows of its text."""

LOST = ("stopped SparkContext", "SparkContext was shut down", "Master removed our application", "All masters are")


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raises what a Spark job inside reports as an error of ours."""
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, PySparkException

    try:
        yield
    except AnalysisException as error:
        ours = OURS.search(str(error))  # of a data source, whose columns are asked for when a query is analysed
        raise (error_in(str(error)) if ours else CallerError(first_line(error))) from error
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from error


@contextmanager
def hints_in_text() -> Iterator[None]:
    """Errors inside keep their hint on the way to the driver, which has only their text."""
    try:
        yield
    except AgventError as error:
        if error.hint is None or isinstance(error, errors.FilterError):
            raise
        raise type(error)(f"{error.message}\nhint: {error.hint}") from None


def error_in(text: str) -> AgventError:
    """The error that a failed job's text tells of: one of ours from a worker, or a fault of Spark's."""
    ours = OURS.search(text)
    if ours:
        kind = getattr(errors, ours[1])
        # A FilterError's text has its caret already, and cannot be made from it again.
        return (kind if kind is not errors.FilterError else CallerError)(ours[2].strip())
    if any(sign in text for sign in LOST):
        return SparkFault("the cluster ended the job: its master or all of its workers stopped answering")
    return SparkFault(f"the Spark job failed: {first_line(text)}")


def first_line(error: object) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
