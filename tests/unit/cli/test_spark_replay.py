"""`agvent spark replay` and `discover` refuse what cannot be done before they start Spark, in words and with a code."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.cli.main import main
from agvent.store.log_reader import create_log

SINCE = ("--since", "2026-03-01")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    create_log(tmp_path / "log")
    return tmp_path / "log"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["price > ", *SINCE, "--out", "new"], "error: line 1, column 8: expected a value, found the end"),
        (["price > 1", *SINCE], "error: --out is missing"),
        (["price > 1", "--since", "today", "--out", "new"], "error: argument --since: 'today' is not a timestamp"),
        (["price > 1", *SINCE, "--until", "2026-03-01", "--out", "new"], "error: --until must be later than --since"),
        (["price > 1", *SINCE, "--out", "."], "error: . exists and is not empty"),
        (["price > 1", *SINCE, "--out", "new", "--format", "jsonl"], "error: --out does not apply to --format jsonl"),
        (["cites('A')", *SINCE, "--out", "new"], "error: the filter calls cites(), and a replay has no agvents to ask"),
        (["price > 1", *SINCE, "--out", "new", "--time", "at"], "error: --time applies only to Parquet"),
        (["", *SINCE, "--out", "new", "--type", ""], "error: type is empty"),
    ],
    ids=lambda given: str(given)[:60],
)
def test_a_mistake_is_told(log: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """A bad filter has its place; whatever is wrong, the code is 2 and nothing is written."""
    assert exit_code(["spark", "replay", str(log), *arguments]) == 2
    assert capsys.readouterr().err.startswith(said)
    assert not Path("new").exists()


def exit_code(arguments: list[str]) -> int:
    """The command's exit code; argparse leaves by SystemExit."""
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def test_a_source_that_is_none_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that is not there, an empty folder, and a file that is neither log nor Parquet."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("price\n1\n")
    said = {
        "none": f"error: {tmp_path}/none does not exist",
        "empty": f"error: {tmp_path}/empty is a folder without files",
        "text": f"error: {tmp_path}/text is neither Parquet nor an event log",
    }
    for name, message in said.items():
        assert exit_code(["spark", "replay", str(tmp_path / name), "price > 1", *SINCE, "--out", "new"]) == 2
        assert capsys.readouterr().err.startswith(message)


def test_discovery_is_refused_in_the_same_way(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bad XPath is the caller's mistake, a folder that is no log the machine's."""
    assert exit_code(["spark", "discover", str(log), "--query", "/menu["]) == 2
    assert capsys.readouterr().err.startswith("error: line 1, column 7")
    assert exit_code(["spark", "discover", str(log.parent), "--query", "/menu"]) == 3
    assert capsys.readouterr().err == f"error: {log.parent} is not an event log: it has no log.json\n"
