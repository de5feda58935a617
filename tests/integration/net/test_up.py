"""`agvent up` as it begins and ends: what does not start is said, what was started is stopped."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agvent.errors import EnvironmentFault
from agvent.net.fleet.fleet import free_ports, locked

AGVENT = [sys.executable, "-m", "agvent.cli.main"]
NETWORK = "agvent-network"


def run(folder: Path, *words: str, code: int) -> str:
    done = subprocess.run([*AGVENT, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def start(folder: Path, *words: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([*AGVENT, "up", "line", *words], cwd=folder, stdout=pipe, stderr=pipe, text=True)


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for pattern in ("*.json", "*/broker.toml") for path in folder.glob(pattern)}


def test_a_folder_has_one_network(tmp_path: Path) -> None:
    """Whoever starts another there is told so, and nothing of the one that runs is changed; its brokers keep the folder
    when `agvent up` itself is killed."""
    up = start(tmp_path, "--brokers", "1", "--first-port", "0", "--json")
    assert up.stdout is not None
    said = up.stdout.readline()
    before = files(tmp_path / NETWORK)
    try:
        assert len(before) == 2
        again = run(tmp_path, "up", "--first-port", "0", code=3)
        assert again.startswith("error: a network runs in agvent-network already\nhint: end it first")
        up.kill()
        up.communicate()
        with pytest.raises(EnvironmentFault, match="runs in"), locked(tmp_path / NETWORK):
            pass
        assert files(tmp_path / NETWORK) == before
    finally:
        up.kill()
        run(tmp_path, "broker", "stop", "B1", "--at", msgspec.json.decode(said)["brokers"]["B1"], code=0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_brokers_start_leaves_none(tmp_path: Path, number: signal.Signals) -> None:
    """They have the lock of the folder, which is free when all of them have ended."""
    up = start(tmp_path, "--brokers", "2", "--first-port", "0", "--json")
    while not (tmp_path / NETWORK / "B1" / "output.log").exists():
        assert up.poll() is None
    up.send_signal(number)
    assert (*up.communicate(timeout=30), up.returncode) == ("", "", 0)
    with locked(tmp_path / NETWORK):
        pass


def test_up_says_why_a_broker_does_not_start(tmp_path: Path) -> None:
    """The broker's own error and hint, not the last line of what it said."""
    data = tmp_path / NETWORK / "B1" / "data"
    data.mkdir(parents=True)
    (data / "identity.json").write_text('{"broker": "B7", "incarnation": 1}')
    said = run(tmp_path, "up", "--brokers", "1", "--first-port", "0", code=3)
    assert said.startswith("error: B1 did not start: ")
    assert said.endswith("is the disk of broker 'B7', not of 'B1'\nhint: give each broker its own `data`\n")


def test_up_names_an_admin_port_that_is_taken(tmp_path: Path) -> None:
    """It is not the broker's own port."""
    with socket.create_server(("127.0.0.1", free_ports(1)[0])) as other:
        port = other.getsockname()[1]
        said = run(tmp_path, "up", "--brokers", "1", "--first-port", str(port - 1), code=3)
    assert said.startswith(f"error: port {port} is taken: B1 cannot listen there\n")


def test_the_ports_of_up_are_ports(tmp_path: Path) -> None:
    """Two for each broker, and nothing is made if there are not so many."""
    said = run(tmp_path, "up", "--brokers", "3", "--first-port", "65531", code=2)
    assert said.startswith("error: --first-port 65531: 3 brokers need 6 ports, the last is 65535\n")
    assert os.listdir(tmp_path) == []


def test_up_says_that_the_log_is_not_written(tmp_path: Path) -> None:
    """What `agvent log follow` beside it ended with is not only in its file."""
    (tmp_path / NETWORK / "log").mkdir(parents=True)
    (tmp_path / NETWORK / "log" / "log.json").write_text("{}")
    up = start(tmp_path, "--brokers", "1", "--first-port", "0", "--json", "--log")
    assert up.stderr is not None
    assert up.stderr.readline().startswith("the event log is not written, and is tried again: ")
    up.send_signal(signal.SIGTERM)
    up.communicate(timeout=30)
    assert up.returncode == 0
