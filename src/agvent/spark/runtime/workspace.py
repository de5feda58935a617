"""The folders of the pipeline on the driver: one for this process, gone when it ends, and one that is kept."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def workspace() -> Path:
    """A folder of this process: Spark's log, and indexes on their way to the workers."""
    folder = Path(tempfile.mkdtemp(prefix="agvent-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where what can be made again is kept between runs."""
    home = environment.get("XDG_CACHE_HOME") or Path(environment.get("HOME") or tempfile.gettempdir()) / ".cache"
    return Path(home) / "agvent"
