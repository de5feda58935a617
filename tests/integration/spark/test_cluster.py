"""`match` on a standalone cluster of the pip package, with a worker killed under it; every stage through Connect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from agvent import Subscription, Subscriptions
from agvent.sample_day.day_plan import DayPlan
from agvent.sample_day.generate import generate
from agvent.store.log_reader import LogReader
from tests.integration.spark.processes import (
    DRIVER_SECONDS_MAX,
    answer,
    cluster,
    connect_server,
    driver,
    kill,
    pipe,
)
from tests.stories import COMPLAINT, costly

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


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Connect server."""
    pytest.importorskip("grpc")
    with connect_server(tmp_path_factory.mktemp("server")) as url:
        yield url


def test_match_runs_through_spark_connect(connect: str, tmp_path: Path) -> None:
    """A client without a JVM of its own gets the same pairs from a Connect server, which is sent the index."""
    assert answer(driver(tmp_path, PROGRAM, connect, "", "")) == expected()


def stage(connect: str, *words: str | Path, warning: str = "") -> list[Any]:
    """What a command prints through a Connect server, line by line; it must end well, and warn of nothing else."""
    command = [sys.executable, "-c", COMMAND, "spark", *map(str, words), "--master", connect]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DRIVER_SECONDS_MAX, check=False)
    assert (done.returncode, done.stderr[: len(warning) or None]) == (0, warning)
    return [json.loads(line) for line in done.stdout.splitlines()]


COMMAND = "import sys; from agvent.cli.main import main; sys.exit(main())"


def test_stages_over_a_log_run_through_spark_connect(connect: str, tmp_path: Path) -> None:
    """Audit, analyse, replay, discover and dispatch say of a log on a common disk what they say elsewhere."""
    log = tmp_path / "day"
    made = generate(log, DayPlan(events=300, subscriptions=20, seed=2))
    [verdict] = stage(connect, "audit", log, "--json")
    counted = [verdict[name] + verdict["fast"][name] for name in ("expected", "delivered", "lost", "duplicated")]
    assert counted == [made.expected, made.deliveries, 0, 0]
    [report] = stage(connect, "analyse", log, "--out", tmp_path / "report", "--json")
    assert (report["audit"], report["deliveries"]) == (verdict, made.deliveries)
    assert (tmp_path / "report" / "report.html").exists()
    asked = ("replay", log, "price > 100", "--type", "Quote", "--since", "2000-01-01")
    quotes = stage(connect, *asked, "--format", "jsonl")
    found = [one.event for one in LogReader(log).events("Quote") if one.event.attributes["price"] > 100]
    assert len(quotes) == len({event.id for event in found}) > 0
    types = stage(connect, "discover", log, "--query", "SELECT DISTINCT type FROM types", "--language", "sql")
    assert {row["type"] for row in types} == {name for name, _ in LogReader(log).types}
    inboxes = tmp_path / "inboxes"
    [batch] = stage(connect, "dispatch", log, "--to", inboxes, "--once")
    assert batch["events"] == sum(batch["end"]["ev"].values()) == report["events"]
    assert batch["deliveries"] == made.expected == pq.read_table(inboxes).num_rows


def test_dispatch_counts_what_it_skips_through_spark_connect(connect: str, tmp_path: Path) -> None:
    """A Connect session tells of a batch in other words, and they mean the same."""
    log = costly(tmp_path / "log")
    [batch] = stage(connect, "dispatch", log, "--once", "--on-error", "skip", warning=COMPLAINT)
    assert (batch["events"], batch["deliveries"], batch["unanswered"]) == (3, 1, 2)
    assert COMPLAINT.endswith(batch["example"].partition(" may need ")[0] + " may need ")
