"""One Spark session for all tests of this process: it takes seconds to start, and a process can have only one.

With `--dist loadgroup` there are two groups, each in one process: those that use this session, and those that start
processes with sessions of their own. So at most two JVMs work at a time; more would starve each other on two cores.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from agvent.spark import session
from tests.stories import interpreted as without_codegen


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    config = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
    with session("local[2]", config=config) as made:
        yield made


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[SparkSession]:
    """Spark without generated code: compiling hundreds of columns that are asked for once takes a minute."""
    with without_codegen(spark) as quick:
        yield quick


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts each test of this folder into its group."""
    for item in items:
        if "integration/spark" in item.nodeid:
            shares = "spark" in getattr(item, "fixturenames", ())
            item.add_marker(pytest.mark.xdist_group("spark" if shares else "spark processes"))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Under xdist a group shows in the id."""
    if session.config.getoption("loadgroup", default=False):
        alone = [item.nodeid for item in session.items if "integration/spark" in item.nodeid]
        assert all("@spark" in nodeid for nodeid in alone), "pytest-xdist does not see the groups of these tests"
