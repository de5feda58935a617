"""A Spark session with quiet and quick settings, on this machine or on a cluster.

`session()` starts a JVM on a Java that java.py finds. Spark prints to a file instead of the terminal; if Spark does not
start, the error has the end of that file. `sc://` addresses reach a Spark Connect server and start
nothing here.
"""

from __future__ import annotations

import os
import re
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from agvent import limits
from agvent.errors import CallerError, SparkFault
from agvent.spark.runtime.java import find_java
from agvent.spark.runtime.workspace import cache_folder, workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTERS: Final = re.compile(r"(local(\[.+\])?|spark://.+|yarn|k8s://.+|sc://.+)$")

SETTINGS: Final = {
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16384",
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.python.daemon.module": "agvent.spark.runtime.worker_daemon",
}

LOCAL_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}

LOG_LINES_SHOWN: Final = 12


def session(master: str | None = None, *, app: str = "agvent", config: Mapping[str, str] | None = None) -> SparkSession:
    """Start a Spark session: on all cores of this machine, or on the cluster that `master` names.

    `config` has Spark settings, which override those made here. If a session already runs in this process, it is
    returned as it is. `with session() as spark:` stops it at the end.

    >>> from agvent.spark import session
    >>> spark = session("local[1]")  # or session("spark://head:7077")
    >>> spark.range(3).count()
    3
    """
    wanted = master or "local[*]"
    if not MASTERS.match(wanted):
        raise CallerError(
            f"{wanted!r} is not the address of a Spark master",
            hint="use local[*], spark://HOST:PORT, yarn, k8s://… or sc://HOST:PORT",
        )
    _require_packages()
    check_answers(wanted)
    if wanted.startswith("sc://"):
        return _connected(wanted, config or {})
    return _started(wanted, app, {**SETTINGS, **_local(wanted), **(config or {})})


def _require_packages() -> None:
    for package in ("pyspark", "pandas"):
        if find_spec(package) is None:
            raise SparkFault(f"{package} is not installed", hint="pip install '.[spark]' in a checkout")


def check_answers(master: str) -> None:
    """Refuses a master whose address does not answer, without waiting for Spark's own timeout of a minute."""
    scheme, _, rest = master.partition("://")
    if scheme not in ("spark", "sc"):
        return
    addresses = [_address(one, 7077 if scheme == "spark" else 15002) for one in re.split("[;/]", rest)[0].split(",")]
    failures = [failure for address in addresses if (failure := _failure(address))]
    if len(failures) == len(addresses):
        raise SparkFault(f"no Spark master answers at {master}: {'; '.join(failures)}", hint="is it running?")


def _address(text: str, default_port: int) -> tuple[str, int]:
    host, _, port = text.rpartition(":") if ":" in text else (text, "", str(default_port))
    if not port.isdigit():
        raise CallerError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def _failure(address: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(address, timeout=limits.MASTER_ANSWER_SECONDS_MAX).close()
    except OSError as error:
        return f"{address[0]}:{address[1]} {error.strerror or error}"
    return None


def _local(master: str) -> dict[str, str]:
    """The settings of a session on this machine alone: the loopback interface, few shuffle partitions."""
    if not master.startswith("local"):
        return {}
    return {**LOCAL_SETTINGS, "spark.sql.shuffle.partitions": str(max(2, os.cpu_count() or 2))}


def _connected(remote: str, config: Mapping[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote(remote)
    for key, value in config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _started(master: str, app: str, settings: dict[str, str]) -> SparkSession:
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        conf = SparkConf().setMaster(master).setAppName(app).setAll(list(settings.items()))
        log = workspace() / "spark.log"
        with log.open("wb") as sink, _environment(master):
            try:
                gateway = launch_gateway(conf, {"stdout": sink, "stderr": sink})  # type: ignore[no-untyped-call]
                SparkContext(conf=conf, gateway=gateway).setLogLevel("ERROR")
            except Exception as error:
                raise SparkFault(f"Spark did not start on {master}: {_reason(error, log)}") from error
    return SparkSession.builder.getOrCreate()


@contextmanager
def _environment(master: str) -> Iterator[None]:
    """The variables that only a JVM's start reads; PYSPARK_PYTHON stays, because every job reads it."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    wanted = {"JAVA_HOME": str(find_java(os.environ, cache_folder(os.environ)))}
    if master.startswith("local"):
        wanted["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _reason(error: Exception, log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    told = [line for line in lines if "ERROR" in line or "Exception" in line or line.startswith("Error")]
    return "\n  ".join([str(error).splitlines()[0] if str(error) else type(error).__name__, *told[-LOG_LINES_SHOWN:]])


def session_of(events: Any) -> SparkSession:
    """The session of a DataFrame; for anything else, the one that runs in this process."""
    from pyspark.sql import SparkSession

    found = getattr(events, "sparkSession", None) or SparkSession.getActiveSession()
    if found is None:
        raise CallerError("no Spark session runs in this process", hint="start one: agvent.spark.session()")
    running: SparkSession = found
    return running


def is_connect(spark: Any) -> bool:
    """Is this a session of Spark Connect, whose server may be another machine?"""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark: Any) -> bool:
    """Do the tasks run on the machine and the disks of this process?"""
    return not is_connect(spark) and str(spark.conf.get("spark.master", "")).startswith("local")
