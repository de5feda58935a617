"""A folder of results is there whole or not at all, whatever ends the process that writes it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agvent.errors import CallerError, EnvironmentFault
from agvent.spark.files.output_folder import hidden, output_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from agvent.spark.files.output_folder import output_folder
with output_folder(sys.argv[1]) as staging:
    Path(staging, "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


def below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_results_are_staged_beside_their_folder() -> None:
    """Under a name that no reader looks at, on the same file system."""
    assert hidden("/results/day/") == "/results/.day.partial"
    assert hidden("day") == str(Path.cwd() / ".day.partial")
    assert hidden("s3://bucket/day") == "s3://bucket/.day.partial"


def test_a_folder_appears_when_all_of_it_is_written(tmp_path: Path) -> None:
    """An empty folder is taken; until the end it stays empty, and then nothing hidden is left."""
    out = tmp_path / "out"
    out.mkdir()
    with output_folder(str(out)) as staging:
        Path(staging, "sub").mkdir()
        Path(staging, "sub", "file").write_text("rows")
        assert below(out) == []
    assert below(tmp_path) == ["out", "out/sub", "out/sub/file"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_failure_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    """Neither the folder nor what was staged for it."""

    def fail() -> None:
        with output_folder(str(tmp_path / "out")) as staging:
            Path(staging, "half").touch()
            raise error

    with pytest.raises(type(error)):
        fail()
    assert below(tmp_path) == []


def test_what_a_killed_process_leaves_is_cleared_by_the_next(tmp_path: Path) -> None:
    """A SIGKILL leaves the hidden folder alone; the next one that writes the same folder begins with an empty one."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "out")], check=False)
    assert done.returncode == -signal.SIGKILL
    assert below(tmp_path) == [".out.partial", ".out.partial/half"]
    with output_folder(str(tmp_path / "out")) as staging:
        Path(staging, "whole").touch()
    assert below(tmp_path) == ["out", "out/whole"]


def test_a_folder_with_something_in_it_is_refused(tmp_path: Path) -> None:
    """Before anything is written; so is a file in its place."""
    (tmp_path / "file").touch()
    for out, message in (
        (tmp_path, f"{tmp_path} exists and is not empty"),
        (tmp_path / "file", f"{tmp_path / 'file'} is a file, not a folder"),
    ):
        with pytest.raises(CallerError) as caught, output_folder(str(out)):
            raise AssertionError("there is nothing to write into")
        assert caught.value.message == message
    assert below(tmp_path) == ["file"]


def test_a_place_that_cannot_be_written_is_a_fault_of_the_environment(tmp_path: Path) -> None:
    """It is named."""
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFault, match=r"cannot write .*/file/out: "), output_folder(f"{tmp_path}/file/out"):
        raise AssertionError("there is nothing to write into")
