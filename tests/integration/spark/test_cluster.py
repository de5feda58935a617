"""`match` on a standalone cluster of the pip package, with a worker killed under it; and through Spark Connect."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from agvent import Subscription, Subscriptions
from tests.integration.spark.processes import answer, cluster, connect_server, driver, kill, pipe

EVENTS = 1_000

PROGRAM = """
import json, sys, time
from agvent import Subscription
from agvent.spark import match, session

master, shared, began = sys.argv[1], sys.argv[2] or None, sys.argv[3]
interests = [Subscription(id=f"s{n}", filter=f"n >= {n} AND n < {n + 10}") for n in range(0, 1000, 5)]

def slow(batches):
    # Says through a pipe that a task runs, and takes a second for its rows.
    with open(began, "w") as pipe:
        pipe.write("task")
    for batch in batches:
        for row in range(batch.num_rows):
            time.sleep(1 / batch.num_rows)
            yield batch.slice(row, 1)

with session(master) as spark:
    frame = spark.range(0, 1000, 1, 8).selectExpr("id AS event", "id AS n")
    if began:
        frame = frame.mapInArrow(slow, frame.schema)
    found = match(frame, interests, shared=shared).collect()
    print(json.dumps(sorted([row.event, row.subscription] for row in found)))
"""


def expected() -> list[list[object]]:
    interests = [Subscription(id=f"s{n}", filter=f"n >= {n} AND n < {n + 10}") for n in range(0, 1000, 5)]
    matches = Subscriptions(interests).match_batch([{"n": n} for n in range(EVENTS)])
    return sorted([event, id] for event, ids in matches.by_event() for id in ids)


@pytest.fixture(scope="module")
def two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, list[subprocess.Popen[str]]]]:
    folder = tmp_path_factory.mktemp("cluster")
    with cluster(folder, workers=2) as (url, workers):
        yield folder, url, workers


Cluster = tuple[Path, str, list[subprocess.Popen[str]]]


def test_a_shared_folder_serves_a_cluster(two_workers: Cluster) -> None:
    """With `shared`, the workers map the index where the driver wrote it, and it stays there for the next job."""
    folder, url, _ = two_workers
    shared = folder / "shared"
    assert answer(driver(folder, PROGRAM, url, str(shared), "")) == expected()
    assert [file.suffix for file in shared.iterdir()] == [".index"]


def test_a_cluster_gives_the_pairs_although_a_worker_is_killed(two_workers: Cluster) -> None:
    """Spark carries the index to two workers; one dies while tasks run, and no pair is lost or doubled."""
    folder, url, workers = two_workers
    began = folder / "began"
    with pipe(began) as wait_for_a_task:
        started = driver(folder, PROGRAM, url, "", str(began))
        try:
            wait_for_a_task()
            kill(workers[0])
            assert answer(started) == expected()
        finally:
            kill(started)


def test_match_runs_through_spark_connect(tmp_path: Path) -> None:
    """A client without a JVM of its own gets the same pairs from a Connect server, which is sent the index."""
    pytest.importorskip("grpc")
    with connect_server(tmp_path) as url:
        assert answer(driver(tmp_path, PROGRAM, url, "", "")) == expected()
