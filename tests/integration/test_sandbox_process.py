"""The sandbox host as a process of its own: it answers, dies, comes back, and keeps what is hidden."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent import limits
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.execution.sandbox import Arrival, Task
from agvent.agents.execution.signed_programs import sign
from agvent.errors import AdmissionError, SandboxFault
from agvent.event import Cargo, Event
from agvent.sandbox.host_process import HostProcess
from agvent.sandbox.program_session import Allowance
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.publishing_house import Book
from tests.sandboxes import KEYS, booked, faults, trusted

HOUSE = Ed25519PrivateKey.from_private_bytes(b"h" * 32)
EVE = Ed25519PrivateKey.from_private_bytes(b"e" * 32)
GRANTS = {name: frozenset({key.public_key().public_bytes_raw()}) for name, key in (("house", HOUSE), ("eve", EVE))}
SMALL = Allowance(call_seconds_max=0.05, batch_seconds_max=1.0)
CALLS = (
    BehaviourCall("references_contain", ("Alonso, E.",)),
    BehaviourCall("wholesale_price", (1000, "Istanbul")),
    BehaviourCall("holds", ("margin() > 0.2",)),
)
LOOP = Program(
    type="Loop",
    source="class Loop:\n    def loop(self, n):\n        while True: pass\n",
    behaviours=(Signature("loop", "int", ("int",), 1),),
)
LOOPING = encode_event(Event(type="Loop", cargo=Cargo(LOOP.hash)))


@pytest.fixture
def host(tmp_path: Path) -> Iterator[HostProcess]:
    key_file = tmp_path / "hosts.key"
    key_file.write_bytes(b"k" * 32)
    with HostProcess(key_file, grants=GRANTS, allowances={"eve": SMALL}) as host:
        yield host


def test_it_answers_as_the_sandbox_in_this_process_does(host: HostProcess) -> None:
    """Runs, arrivals, admissions and refusals; the key it names is that of its file."""
    assert host.key == KEYS.public
    host.admit(sign(program_of(Book), "house", HOUSE))
    tasks = [Task("house", booked(list_price=float(n)), CALLS) for n in range(50)]
    arrival = Arrival("house", booked(), "ann", {"city": "Oslo"})
    assert host.run(tasks) == trusted(Book).run(tasks)
    assert host.arrive(arrival) == trusted(Book).arrive(arrival)
    with pytest.raises(AdmissionError, match="the signature is not house's"):
        host.admit(sign(program_of(Book), "house", EVE))


def test_a_host_that_is_killed_comes_back(host: HostProcess) -> None:
    """With its programs; the caller sees the answers."""
    host.admit(sign(program_of(Book), "house", HOUSE))
    tasks = [Task("house", booked(), CALLS)]
    before = host.run(tasks)
    for deaths in (1, 2):
        os.kill(host.pid, signal.SIGKILL)
        assert host.run(tasks) == before
        assert host.starts == 1 + deaths


def test_a_kill_in_the_middle_is_asked_again(host: HostProcess) -> None:
    """Of several threads, all have their answers."""
    host.admit(sign(program_of(Book), "house", HOUSE))
    expected = trusted(Book).run([Task("house", booked(), CALLS)])
    found: list[object] = []

    def ask() -> None:
        found.extend(host.run([Task("house", booked(), CALLS)]) for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    os.kill(host.pid, signal.SIGKILL)
    for thread in threads:
        thread.join()
    assert found == [expected] * 60
    assert host.starts == 2


def test_a_hostile_principal_is_its_own_trouble(host: HostProcess) -> None:
    """While it loops the other's calls are answered; it goes into quarantine, and is released."""
    host.admit(sign(program_of(Book), "house", HOUSE))
    host.admit(sign(LOOP, "eve", EVE))
    loops = tuple(BehaviourCall("loop", (n,)) for n in range(9))
    ((*_, price, _), looped) = host.run([Task("house", booked(), CALLS), Task("eve", LOOPING, loops)])
    assert price == Answered(CALLS[1], 40_900.0)
    assert [one.fault for one in looped] == ["TimeoutError"] * 3 + ["in quarantine"] * 6
    assert [(one.principal, one.type) for one in host.quarantined()] == [("eve", "Loop")]
    assert host.release(LOOP.hash)
    assert host.quarantined() == ()


def numbered(number: int) -> Program:
    return Program(
        type="Numbered",
        source=f"class Numbered:\n    def number(self):\n        return {number}\n",
        behaviours=(Signature("number", "int"),),
    )


def test_a_principal_with_many_programs_makes_room_with_its_own(
    host: HostProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The least recently needed goes and may come again, also if it is the host that is full: whoever has most there
    loses one, and no other is refused. A host that comes back has those that stayed."""
    monkeypatch.setattr(limits, "PRINCIPAL_PROGRAMS_MAX", 3)
    programs = [numbered(n) for n in range(6)]
    events = [encode_event(Event(type="Numbered", cargo=Cargo(one.hash))) for one in programs]

    def answered() -> list[object]:
        found = host.run([Task("eve", event, (BehaviourCall("number", ()),)) for event in events])
        return [answer.value for (answer,) in found]

    for one in programs[:3]:
        host.admit(sign(one, "eve", EVE))
    assert host.has(programs[0].hash)
    host.admit(sign(programs[3], "eve", EVE))
    assert (answered(), host.has(programs[1].hash)) == ([0, None, 2, 3, None, None], False)
    host.admit(sign(programs[1], "eve", EVE))
    assert answered() == [0, 1, None, 3, None, None]

    monkeypatch.setattr(limits, "PROGRAMS_MAX", 3 + limits.HOST_REQUESTS_MAX)
    for one in programs[4:]:
        host.admit(sign(one, "house", HOUSE))
    assert answered() == [None, 1, None, None, 4, 5]
    os.kill(host.pid, signal.SIGKILL)
    assert answered() == [None, 1, None, None, 4, 5]


def test_a_host_that_dies_of_one_request_answers_the_others(tmp_path: Path) -> None:
    """What was under way when it died is asked alone: only what kills it again has a fault."""
    tasks = {"eve": Task("eve", LOOPING, (BehaviourCall("loop", (1,)),)), "house": Task("house", booked(), CALLS)}
    host = HostProcess(tmp_path / "hosts.key")
    host.command = [sys.executable, "-m", "tests.deadly_host"]
    with host, ThreadPoolExecutor() as threads:
        found = {name: threads.submit(host.run, [task]) for name, task in tasks.items()}
        assert faults(found["eve"].result()) == ["the sandbox host died"]
        assert found["house"].result() == [tuple(Answered(call, 1) for call in CALLS)]


def test_what_nobody_foresaw_leaves_the_host_alive(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is a fault of that publisher's; the process goes on and says on standard error what it was."""
    impossible = Allowance(printed_bytes_max=-1)
    key_file = tmp_path / "hosts.key"
    key_file.write_bytes(b"k" * 32)
    with HostProcess(key_file, grants=GRANTS, allowances={"eve": impossible}, workers=1) as host:
        with pytest.raises(AdmissionError, match="Loop does not load: OverflowError in the sandbox host"):
            host.admit(sign(LOOP, "eve", EVE))
        host.admit(sign(program_of(Book), "house", HOUSE))
        assert host.run([Task("house", booked(), CALLS)]) == trusted(Book).run([Task("house", booked(), CALLS)])
        assert host.starts == 1
    assert "OverflowError" in capfd.readouterr().err


def test_without_its_keys_it_does_not_start(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It says why on standard error."""
    torn = tmp_path / "torn.key"
    torn.write_bytes(b"k" * 31)
    for file, words in ((tmp_path / "none.key", "cannot be read"), (torn, "has 31 bytes")):
        with pytest.raises(SandboxFault, match="the sandbox host does not start"), HostProcess(file):
            pass
        assert words in capfd.readouterr().err


def test_it_makes_a_key_that_is_missing_if_it_may(tmp_path: Path) -> None:
    """Once: the next host beside that file has the same one. A key that is granted later counts after a restart too."""
    key_file = tmp_path / "hosts.key"
    with HostProcess(key_file, make_key=True, workers=1) as host:
        made = host.key
        assert key_file.stat().st_mode & 0o777 == 0o600
    with HostProcess(key_file, make_key=True, workers=1) as host:
        assert host.key == made
        with pytest.raises(AdmissionError, match="house is not granted to bring code"):
            host.admit(sign(program_of(Book), "house", HOUSE))
        host.grant("house", HOUSE.public_key().public_bytes_raw())
        os.kill(host.pid, signal.SIGKILL)
        host.admit(sign(program_of(Book), "house", HOUSE))


def test_a_host_that_was_just_killed_is_asked_anew(tmp_path: Path) -> None:
    """However soon after its death somebody asks: the next process answers."""
    with HostProcess(tmp_path / "hosts.key", make_key=True, workers=1) as host:
        for _ in range(8):
            os.kill(host.pid, signal.SIGKILL)
            assert host.quarantined() == ()
        assert host.starts == 9


def test_what_cannot_be_answered_is_a_fault(tmp_path: Path) -> None:
    """A host that dies and cannot come back: its key file is gone."""
    key_file = tmp_path / "hosts.key"
    key_file.write_bytes(b"k" * 32)
    with HostProcess(key_file, grants=GRANTS, workers=1) as host:
        key_file.unlink()
        os.kill(host.pid, signal.SIGKILL)
        assert faults(host.run([Task("house", booked(), CALLS)])) == ["the sandbox host died"] * 3
        assert host.arrive(Arrival("house", booked(), "ann", {})).fault == "the sandbox host died"


def test_a_host_that_was_closed_stays_closed(tmp_path: Path) -> None:
    """Whoever asks it later starts no other: the process that it was for is ending."""
    with HostProcess(tmp_path / "hosts.key", make_key=True, workers=1) as host:
        pass
    assert faults(host.run([Task("house", booked(), CALLS)])) == ["the sandbox host died"] * 3
    with pytest.raises(SandboxFault, match="the sandbox host was closed"):
        host.quarantined()
    assert host.starts == 1
