"""ActiveMQ's own JMS selectors, run by `jms/Selectors.java` where a JDK and Debian's packages are present."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from engine import COUNTED, Report

JARS: Final = Path("/usr/share/java")
NEEDED: Final = (
    "activemq-client",
    "geronimo-jms_1.1_spec",
    "geronimo-j2ee-management-1.1-spec",
    "hawtbuf",
    "jackson-annotations",
    "jackson-core",
    "jackson-databind",
    "slf4j-api",
    "slf4j-nop",
)
HINT: Final = (
    "apt-get install openjdk-17-jdk-headless libactivemq-java (Debian, Ubuntu) adds ActiveMQ to the comparison"
)
HEAP: Final = "3g"
SUBSCRIPTIONS_MAX: Final = 100_000
"""A million selectors take it 6 GB and 40 s, to find that a linear engine is ten times slower than at 100,000."""


def missing() -> str | None:
    """What is not there to run it, or None."""
    jars = [name for name in NEEDED if not (JARS / f"{name}.jar").exists()]
    if shutil.which("javac") is None:
        return "no JDK"
    return f"no {', '.join(jars)} in {JARS}" if jars else None


def report(subscriptions: Path, events: Path, seconds: float) -> Report:
    """Runs it in a fresh process."""
    classpath = ":".join(str(JARS / f"{name}.jar") for name in NEEDED)
    program = Path(__file__).parent / "jms" / "Selectors.java"
    command = ["java", f"-Xmx{HEAP}", "-cp", classpath, *map(str, (program, subscriptions, events, seconds, COUNTED))]
    ran = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return msgspec.json.decode(ran.stdout, type=Report)
