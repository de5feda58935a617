"""A network of broker processes on this machine: written down, started, started again, stopped.

Each broker has a folder with its configuration, its data and what it printed; `network.json` says where each listens,
`hosts.key` is the key of their sandbox hosts. The admin ports follow the brokers' ports, in the same order.
`up.lock` is locked by whoever runs the fleet, and by its brokers, which outlive that one if it is killed.
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import EnvironmentFault
from agvent.net.link.address import Address
from agvent.net.server.ready_file import is_ready
from agvent.sandbox.key_file import make_host_key

NETWORK: Final = "network.json"
HOST_KEY: Final = "hosts.key"
LOCK: Final = "up.lock"
DATA: Final = "data"
"""The folder of a broker's data in its own folder."""

STOP_SECONDS_MAX: Final = 10.0

ERROR: Final = "error: "
HINT: Final = "hint: "
"""How the lines of a command that fails begin."""


class Member(msgspec.Struct):
    """One broker of the fleet, and its process while it runs."""

    name: str
    address: Address
    admin: Address
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    starts: int = 0
    printed: int = 0  # bytes of the output that processes before this one printed

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    @property
    def output(self) -> Path:
        return self.folder / "output.log"

    @property
    def said(self) -> str:
        """What this process printed."""
        with self.output.open("rb") as output:
            output.seek(self.printed)
            return output.read().decode(errors="replace")

    @property
    def is_ready(self) -> bool:
        """Has this very process said that it is ready? Somebody else may listen at its address."""
        return self.process is not None and self.is_running and is_ready(self.folder / DATA, self.process.pid)


class Fleet:
    """The brokers of a graph. An edge is a link; each of its two brokers names the other as its neighbour."""

    def __init__(
        self,
        folder: Path,
        edges: Sequence[tuple[str, str]],
        names: Sequence[str],
        *,
        first_port: int,
        keep_history: bool = False,
        lock: int | None = None,
    ) -> None:
        self.folder, self.keep_history, self.lock = folder, keep_history, lock
        count = len(names)
        ports = [*range(first_port, first_port + 2 * count)] if first_port else free_ports(2 * count)
        addresses = [Address("127.0.0.1", port) for port in ports]
        self.members = {
            name: Member(name, address, admin, folder / name)
            for name, address, admin in zip(names, addresses[:count], addresses[count:], strict=True)
        }
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / HOST_KEY).exists():
            make_host_key(folder / HOST_KEY)
        for name, member in self.members.items():
            member.folder.mkdir(parents=True, exist_ok=True)
            neighbours = [b if a == name else a for a, b in edges if name in (a, b)]
            self._write(member, neighbours)
        places = {name: str(member.address) for name, member in self.members.items()}
        (folder / NETWORK).write_bytes(msgspec.json.format(msgspec.json.encode(places)))

    def _write(self, member: Member, neighbours: list[str]) -> None:
        lines = [
            f'name = "{member.name}"',
            f'listen = "{member.address}"',
            f'admin = "{member.admin}"',
            f'data = "{DATA}"',
        ]
        lines += [f"keep_history = {str(self.keep_history).lower()}", "", "[neighbours]"]
        lines += [f'"{other}" = "{self.members[other].address}"' for other in neighbours]
        lines += ["", "[sandbox]", f'key = "../{HOST_KEY}"']
        (member.folder / "broker.toml").write_text("\n".join(lines) + "\n")

    def start(self, name: str) -> None:
        """Starts a broker that is not running."""
        member = self.members[name]
        assert not member.is_running
        config = member.folder / "broker.toml"
        with member.output.open("ab") as output:
            member.printed = output.tell()
            member.process = subprocess.Popen(
                [sys.executable, "-m", "agvent.cli.main", "broker", "--config", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=() if self.lock is None else (self.lock,),
                start_new_session=True,  # Ctrl-C is for whoever runs the fleet, which then stops it in order
            )
        member.starts += 1

    def start_all(self) -> None:
        for name in self.members:
            self.start(name)

    def wait_until_up(self, seconds: float = 60.0, *, given_up: Callable[[], bool] = lambda: False) -> None:
        """Waits until every broker is ready, or it is given up; an EnvironmentFault with what it printed if one does
        not."""
        ends = time.monotonic() + seconds
        for member in self.members.values():
            while not member.is_ready and not given_up():
                if not member.is_running or time.monotonic() > ends:
                    raise _not_up(member)
                time.sleep(0.05)

    def kill(self, name: str) -> None:
        """kill -9."""
        process = self.members[name].process
        assert process is not None
        process.kill()
        process.wait()

    def stop(self) -> None:
        """Stops every broker cleanly; one that does not stop is killed."""
        running = [one.process for one in self.members.values() if one.process is not None and one.is_running]
        for process in running:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        ends = time.monotonic() + STOP_SECONDS_MAX
        for process in running:
            try:
                process.wait(max(0.0, ends - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """The lock of who may run the network of a folder, for as long as it runs."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _take(lock, folder)
        yield lock
    finally:
        os.close(lock)


def _take(lock: int, folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise EnvironmentFault(
            f"a network runs in {folder} already",
            hint="end it first: Ctrl-C where `agvent up` runs or, if that was killed, `agvent broker stop` for each "
            "broker; or choose another folder (--network)",
        ) from None


def _not_up(member: Member) -> EnvironmentFault:
    error, hint = complaint_in(member.said)
    if "address already in use" in error.lower():
        port = next((one.port for one in (member.address, member.admin) if f", {one.port})" in error), "of its own")
        return EnvironmentFault(
            f"port {port} is taken: {member.name} cannot listen there",
            hint="--first-port PORT chooses others; 0: any free port",
        )
    reason = error or f"{member.output} does not say why"
    return EnvironmentFault(f"{member.name} did not start: {reason}", hint=hint)


def complaint_in(said: str) -> tuple[str, str | None]:
    """The last error that a command printed, and its hint; without one, its last line."""
    lines = said.strip().splitlines()
    errors = [at for at, line in enumerate(lines) if line.startswith(ERROR)]
    if not errors:
        return lines[-1] if lines else "", None
    hints = [line.removeprefix(HINT) for line in lines[errors[-1] :] if line.startswith(HINT)]
    return lines[errors[-1]].removeprefix(ERROR), hints[0] if hints else None


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
