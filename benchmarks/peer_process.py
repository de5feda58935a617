"""Peers as processes: started for one measurement in a folder of their own, and ended with it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import msgspec

from broker_network import Run

START_SECONDS_MAX: Final = 60.0


class Installed(msgspec.Struct, frozen=True):
    """Another broker: how to get it, and what is missing of it here."""

    name: str
    hint: str
    needs: tuple[str, ...]  # programs and paths
    modules: tuple[str, ...]

    def missing(self) -> str:
        """What is not there; empty if everything is."""
        programs = [one for one in self.needs if shutil.which(one) is None and not Path(one).exists()]
        return ", ".join([*programs, *(one for one in self.modules if find_spec(one) is None)])


class Peer(Installed, frozen=True):
    """One measurement of it: of topics, a payload's bytes and the number of events; of filters, the number of filters,
    and of events."""

    measure: Callable[[int, int], Run]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def started(make: Callable[[Path, int], tuple[list[str], dict[str, str]]]) -> Iterator[tuple[int, list[int]]]:
    """A peer, made from a folder and a port as a command and its environment; gives the port and its processes."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        port = free_port()
        command, environment = make(Path(folder), port)
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            wait_until_up(port, process)
            yield port, _family(process.pid)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_until_up(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < until:
        assert process.poll() is None, f"the peer ended with {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError(f"nobody listens on port {port} after {START_SECONDS_MAX:.0f} s")


def _family(pid: int) -> list[int]:
    """A process and all below it."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in _family(int(child)))]
