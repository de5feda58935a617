"""`agvent log follow` as a process beside a fleet: started, started again, stopped after the brokers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from agvent.net.fleet.fleet import complaint_in

LOG: Final = "log"
"""The log's folder in that of a network."""

EVERY_SECONDS: Final = 2.0
STOP_SECONDS_MAX: Final = 60.0


class FollowProcess:
    """Writes the log of the network of a folder. With `trim` it deletes journals that the log has; `keep` are the
    options of `agvent log follow` that bound the log."""

    def __init__(self, network: Path, *, trim: bool, keep: Sequence[str] = ()) -> None:
        self.network, self.trim, self.keep = network, trim, keep
        self._process: subprocess.Popen[bytes] | None = None
        self._printed = 0  # bytes of the output that processes before this one printed

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def complaint(self) -> str:
        """Why it ended by itself; empty if it runs, was stopped or killed."""
        if self._process is None or (self._process.poll() or 0) <= 0:
            return ""
        with self._output.open("rb") as output:
            output.seek(self._printed)
            error, hint = complaint_in(output.read().decode(errors="replace"))
        return error + (f" (hint: {hint})" if hint else "")

    @property
    def _output(self) -> Path:
        return self.network / "follow.log"

    def start(self) -> None:
        command = [sys.executable, "-m", "agvent.cli.main", "log", "follow", str(self.network / LOG)]
        command += ["--network", str(self.network), "--every", str(EVERY_SECONDS), *(["--trim"] if self.trim else [])]
        command += self.keep
        with self._output.open("ab") as output:
            self._printed = output.tell()
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )

    def stop(self) -> None:
        """Lets it take what is left; a kill loses nothing either, and the next start takes it."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
