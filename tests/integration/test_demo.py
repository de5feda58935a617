"""`agvent demo` on a few agvents: twelve broker processes, a cut, a kill, and the verdict of every witness."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agvent.demo.verdict import DemoReport, WitnessTally, logged, read_due, tally
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter

pytestmark = pytest.mark.xdist_group("spark processes")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    command = [sys.executable, "-m", "agvent.cli.main", "demo", "--agvents", "300", "--json", "--keep"]
    environment = {**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("demo"))}
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return msgspec.json.decode(done.stdout, type=dict[str, Any])


def test_everything_arrives_once(found: dict[str, Any]) -> None:
    """What the shops received, the event log and Spark's audit of it all agree with the oracle."""
    names = ("published", "lost", "duplicated", "unexpected", "out_of_order", "verdict", "without_spark")
    assert {name: found[name] for name in names} == {
        "published": 300,
        "lost": 0,
        "duplicated": 0,
        "unexpected": 0,
        "out_of_order": 0,
        "verdict": "clean",
        "without_spark": None,
    }
    whole = {"expected": 375, "delivered": 375, "lost": 0, "duplicated": 0, "unexpected": 0, "out_of_order": 0}
    assert found["witnesses"] == {"shops": whole, "log": whole, "spark": whole}
    assert (found["expected"], found["delivered"]) == (375, 375)


def test_the_network_was_broken_meanwhile(found: dict[str, Any]) -> None:
    """The link was cut, the broker killed while it was, and an agvent went around the cut."""
    cut, killed = found["faults"]
    assert (cut["fault"], cut["where"]) == ("link cut", "AS8–AS9")
    assert (killed["fault"], killed["where"]) == ("broker killed", "AS10")
    assert cut["at_s"] <= killed["at_s"] <= killed["healed_s"] <= cut["healed_s"] <= found["seconds"]
    legs = [(leg["start"], leg["end"]) for leg in found["ways"]["after the cut"]["legs"]]
    assert legs[-1][1] == "AS12"
    assert ("AS7", "AS10") in legs
    assert ("AS8", "AS9") not in legs


def test_a_delivery_that_is_missing_from_the_log_is_lost(found: dict[str, Any], tmp_path: Path) -> None:
    """The same log without one delivery: the witness has one less, and the verdict is not clean."""
    folder = Path(found["folder"])
    rows = LogReader(folder / "log").table("deliveries").to_pylist()
    del rows[7]
    create_log(tmp_path / "log")
    with LogWriter(tmp_path / "log") as log:
        log.append("deliveries", rows)
    missing = tally(read_due(folder / "expected.jsonl"), logged(tmp_path / "log"))
    assert missing == WitnessTally(expected=375, delivered=374, lost=1, duplicated=0, unexpected=0, out_of_order=0)
    shops = WitnessTally(**found["witnesses"]["shops"])
    report = DemoReport(
        published=300,
        faults=[],
        witnesses={"shops": shops, "log": missing},
        ways={},
        without_spark=None,
        folder=None,
        seconds=1,
    )
    assert not report.is_clean
    assert (report.as_json()["lost"], report.as_json()["verdict"]) == (1, "not clean")
