"""The sandbox host: the answers of the in-process sandbox, with limits, faults of one and quarantine."""

from __future__ import annotations

import os
import signal
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import BytesIO

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent import limits
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.execution.sandbox import Arrival, ArrivalReply, Quarantined, Sandbox, Task
from agvent.agents.execution.signed_programs import Programs, sign
from agvent.agents.travel.stop import Decision
from agvent.errors import AdmissionError
from agvent.event import Cargo, Event
from agvent.sandbox import host as host_room
from agvent.sandbox.__main__ import framed_reply
from agvent.sandbox.host import SandboxHost
from agvent.sandbox.pipe_messages import HostArrive, HostArrived, HostRan, HostRoute, HostRouted, HostRun, read
from agvent.sandbox.program_session import Allowance
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall
from tests.couriers import Everywhere, stop
from tests.publishing_house import Book
from tests.sandboxes import KEYS, booked, faults, trusted

EVE = Ed25519PrivateKey.from_private_bytes(b"e" * 32)
GRANTS = {"eve": frozenset({EVE.public_key().public_bytes_raw()})}
SMALL = Allowance(call_seconds_max=0.05, batch_seconds_max=1.0, arrival_seconds_max=0.1)

COUNTS = """\
count = 0
class Counter:
    def next(self, n):
        global count
        count += 1
        return count
    def loop(self, n):
        while n > 0: pass
        return n
    def arrive(self, subscriber):
        while subscriber.name == "loop": pass
        subscriber.tell(subscriber.context)
"""
COUNTER = Program(
    type="Counter",
    source=COUNTS,
    behaviours=(Signature("next", "int", ("int",), 1), Signature("loop", "int", ("int",), 1)),
    reads=("name",),
    arrives=True,
)
"""A program that is not pure, so that one sees when it runs and in which session."""


def counter(name: str = "") -> bytes:
    return encode_event(Event(type="Counter", attributes={"name": name}, cargo=Cargo(COUNTER.hash)))


Start = Callable[..., SandboxHost]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts hosts with Book and Counter, and ends them."""
    started: list[SandboxHost] = []

    def start(workers: int = 1) -> SandboxHost:
        programs = Programs(GRANTS)
        programs.trust(program_of(Book))
        programs.trust(COUNTER)
        host = SandboxHost(programs, KEYS, workers=workers, allowances={"eve": SMALL})
        started.append(host.__enter__())
        return host

    yield start
    for host in started:
        host.__exit__()


def values(host: Sandbox, principal: str, *numbers: int, event: bytes | None = None) -> list[object]:
    """What next(n) of a Counter answers for these numbers."""
    calls = tuple(BehaviourCall("next", (n,)) for n in numbers)
    return [answer.value for answer in host.run([Task(principal, event or counter(), calls)])[0]]


def test_what_nobody_foresaw_is_a_fault_of_its_turn(capsys: pytest.CaptureFixture[str]) -> None:
    """Calls, arrivals and routes have it, it counts for quarantine, no worker is lost, and the others have answers."""
    programs = Programs()
    for one in (program_of(Book), program_of(Everywhere), COUNTER):
        programs.trust(one)
    fault = "OverflowError in the sandbox host"
    impossible = {"eve": Allowance(printed_bytes_max=-1)}  # no worker takes a limit below zero
    with SandboxHost(programs, KEYS, workers=1, allowances=impossible) as host:
        asked, price = (
            Task("eve", counter(), (BehaviourCall("next", (1,)), BehaviourCall("next", (2,)))),
            BehaviourCall("wholesale_price", (1, "Oslo")),
        )
        found = host.run([asked, Task("house", booked(), (price,))])
        assert faults(found) == [fault, fault, ""]
        assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(fault=fault)
        assert host.run([asked]) == found[:1]
        assert faults(host.run([asked])) == ["in quarantine"] * 2
        assert host.route([stop(Everywhere(), principal="eve")]) == [Decision(fault=fault)]
    said = capsys.readouterr().err
    assert said.count(f"{fault}, raised at\n") == 4
    assert "can't convert negative int" not in said, "an error's own text may quote what is hidden"


def test_a_request_that_fails_is_a_fault_of_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The host that fails here was never started; whatever it is, the process that answers goes on."""
    host, fault = SandboxHost(Programs()), "AttributeError in the sandbox host"
    host.programs.trust(COUNTER)
    asked, arrival = Task("eve", counter(), (BehaviourCall("next", (1,)),)), Arrival("eve", counter(), "ann", {})
    for request, reply in (
        (HostRun(1, (asked,)), HostRan(1, ((Answered(asked.calls[0], None, fault),),))),
        (HostArrive(2, arrival), HostArrived(2, ArrivalReply(fault=fault))),
        (HostRoute(3, (stop(Everywhere()),)), HostRouted(3, (Decision(fault=fault),))),
    ):
        assert read(BytesIO(framed_reply(host, request))) == reply
    assert capsys.readouterr().err.count(f"{fault}, raised at\n") == 3


def test_both_sandboxes_give_the_same_answers(start: Start) -> None:
    """Values, faults and what is said on arrival, in the order of tasks and calls, over several chunks."""
    calls = (
        BehaviourCall("references_contain", ("Alonso, E.",)),
        BehaviourCall("wholesale_price", (1000, "Istanbul")),
        BehaviourCall("is_new", (datetime(2002, 5, 1, tzinfo=UTC),)),
        BehaviourCall("margin", ()),
        BehaviourCall("holds", ("margin() > 0.2 AND wholesale_price(1) > 1000",)),
        BehaviourCall("wholesale_price", ("many",)),
        BehaviourCall("nothing", ()),
    )
    tasks = [Task("house", booked(list_price=80.0 + n, _references=["x"] * n), calls[: n % 8]) for n in range(100)]
    tasks.insert(50, Task("eve", booked(), calls))
    arrival = Arrival("house", booked(), "ann", {"city": "Oslo"})
    host, own = start(workers=2), trusted(Book)
    assert host.run(tasks) == own.run(tasks)
    assert (
        host.arrive(arrival) == own.arrive(arrival) == ArrivalReply(({"hello": "ann", "price": 80.0},), (["Oslo", 2],))
    )


def test_equal_calls_are_asked_once(start: Start) -> None:
    """In one batch and later, for agvents in equal state; another state, argument or principal asks again."""
    host = start()
    assert values(host, "house", 1, 1, 2) == [1, 1, 2]
    assert values(host, "house", 2, 1, 3) == [2, 1, 3]
    assert values(host, "house", 1, event=counter("another")) == [4]
    assert values(host, "ann", 1) == [1]


def test_what_is_kept_of_a_large_agvent_is_small(start: Start) -> None:
    """Its answers, and of its state a digest."""
    host = start()
    values(host, "house", 0)
    tracemalloc.start()
    for number in range(20):
        assert values(host, "house", number, event=counter(f"{number}" + "x" * 500_000)) == [number + 2]
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 2_000_000


def test_principals_do_not_share_a_session(start: Start) -> None:
    """What a program leaves behind is seen by its own principal alone."""
    host = start(workers=2)
    assert values(host, "house", *range(5)) == [1, 2, 3, 4, 5]
    assert values(host, "ann", *range(2)) == [1, 2]
    assert values(host, "house", 7) == [6]


def test_the_longest_idle_session_makes_room(start: Start) -> None:
    """With one worker a second principal ends the first one's session; nobody waits."""
    host = start(workers=1)
    assert [values(host, "house", 1), values(host, "ann", 1), values(host, "house", 2)] == [[1], [1], [1]]


def test_a_session_ends_after_its_batches(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a program left in memory goes with it."""
    monkeypatch.setattr(limits, "SESSION_BATCHES_MAX", 2)
    host = start()
    assert [values(host, "house", n) for n in range(5)] == [[1], [2], [1], [2], [1]]


def test_a_limit_is_the_fault_of_one_call(start: Start) -> None:
    """The others of the batch, its own agvent's too, have their answers."""
    calls = (BehaviourCall("next", (1,)), BehaviourCall("loop", (1,)), BehaviourCall("loop", (0,)))
    host = start()
    first, second = host.run([Task("eve", counter("a"), calls), Task("eve", counter("b"), calls[::2])])
    assert [(one.value, one.fault) for one in first] == [(1, ""), (None, "TimeoutError"), (0, "")]
    assert [one.fault for one in second] == ["", ""]
    assert host.quarantined() == ()


def test_a_worker_that_is_killed_is_replaced(start: Start) -> None:
    """Its batch runs again in another one."""
    host = start()
    assert values(host, "house", 1) == [1]
    with host.workers.session("house", COUNTER, Allowance(), limits.BATCH_SECONDS_MAX) as session:
        assert session.worker is not None
        os.kill(session.worker, signal.SIGKILL)
    assert values(host, "house", 2, 3) == [1, 2]


def test_repeated_limits_lead_to_quarantine_and_back(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third call that runs into one does; it is visible; other principals are not touched; the operator or time
    ends it, and then one more is enough, for twice as long."""
    now = [1_000_000]
    monkeypatch.setattr(host_room, "now_us", lambda: now[0])
    host = start(workers=1)
    loops = tuple(BehaviourCall("loop", (n,)) for n in range(1, 8))
    assert faults(host.run([Task("eve", counter(), loops[:5])])) == ["TimeoutError"] * 3 + ["in quarantine"] * 2
    until = 1_000_000 + limits.QUARANTINE_US
    assert host.quarantined() == (Quarantined("eve", COUNTER.hash, "Counter", until, "TimeoutError"),)
    assert faults(host.run([Task("eve", counter(), (BehaviourCall("next", (1,)),))])) == ["in quarantine"]
    assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(fault="in quarantine")
    assert values(host, "house", 1) == [1]

    now[0] = until
    assert host.quarantined() == ()
    assert values(host, "eve", 1) == [1]
    assert faults(host.run([Task("eve", counter(), loops[5:])])) == ["TimeoutError", "in quarantine"]
    assert host.quarantined()[0].until == until + 2 * limits.QUARANTINE_US
    assert host.release(COUNTER.hash)
    assert not host.release(COUNTER.hash)
    assert host.quarantined() == ()
    assert values(host, "eve", 2) == [1]


def test_a_call_that_runs_into_limits_is_refused_alone(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its arguments are a subscriber's choice: after the third time it is in quarantine, shown as it was written, and
    the other calls of its program are answered as before."""
    monkeypatch.setattr(host_room, "now_us", lambda: 0)
    host, calls = start(), (BehaviourCall("loop", (7,)), BehaviourCall("loop", (0,)))
    asked = [host.run([Task("eve", counter(str(n)), calls)])[0] for n in range(5)]
    assert [loop.fault for loop, _ in asked] == ["TimeoutError"] * 3 + ["in quarantine"] * 2
    assert [good.fault for _, good in asked] == [""] * 5
    assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(({},))
    shown = Quarantined("eve", COUNTER.hash, "Counter", limits.QUARANTINE_US, "TimeoutError", "loop(7)")
    assert host.quarantined() == (shown,)
    assert host.release(COUNTER.hash)


def test_what_was_answered_before_is_answered_in_quarantine(start: Start) -> None:
    """Whoever subscribes with ever other arguments that run into limits takes nothing from those who asked before."""
    host = start()
    good, new = BehaviourCall("loop", (0,)), BehaviourCall("loop", (-1,))
    loops = tuple(BehaviourCall("loop", (n,)) for n in range(1, 6))
    assert faults(host.run([Task("eve", counter("a"), (good,))])) == [""]
    assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(({},))
    found = faults(host.run([Task("eve", counter("b"), (*loops, good))]))
    assert found == ["TimeoutError"] * 3 + ["in quarantine"] * 2 + [""]
    assert faults(host.run([Task("eve", counter("c"), (new, good))])) == ["in quarantine", ""]
    assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(({},))
    assert host.arrive(Arrival("eve", counter(), "ben", {})) == ArrivalReply(fault="in quarantine")


def test_an_arrival_that_loops_for_one_subscriber_is_refused_to_it_alone(start: Start) -> None:
    """What it is told of itself is that subscriber's choice."""
    host = start()
    came = [host.arrive(Arrival("eve", counter(), "loop", {})).fault for _ in range(4)]
    assert came == ["TimeoutError"] * 3 + ["in quarantine"]
    assert host.arrive(Arrival("eve", counter(), "ann", {})) == ArrivalReply(({},))
    assert [one.call for one in host.quarantined()] == ["arrive('loop')"]


def test_exceptions_do_not_lead_to_quarantine(start: Start) -> None:
    """A subscriber could cause them with its arguments."""
    host = start()
    calls = tuple(BehaviourCall("is_new", (datetime(2002, 5, n, tzinfo=UTC),)) for n in range(1, 20))
    broken = encode_event(Event(type="Book", attributes={}, cargo=Cargo(program_of(Book).hash)))
    assert set(faults(host.run([Task("house", broken, calls)]))) == {"AttributeError"}
    assert host.quarantined() == ()


def test_a_batch_that_takes_too_long_call_by_call_ends() -> None:
    """Slow calls, each within its time, get the time of one batch; the rest are faults, and it counts."""
    slow = Program(
        type="Slow",
        source="class Slow:\n    def work(self, n):\n        return sum(i for i in range(n % 7 + 250_000)) - n\n",
        behaviours=(Signature("work", "int", ("int",), 1),),
    )
    programs = Programs()
    programs.trust(slow)
    own = Allowance(call_seconds_max=5.0, batch_seconds_max=0.1)
    event = encode_event(Event(type="Slow", cargo=Cargo(slow.hash)))
    with SandboxHost(programs, KEYS, workers=1, allowances={"eve": own}) as host:
        found = faults(host.run([Task("eve", event, tuple(BehaviourCall("work", (n,)) for n in range(100)))]))
    assert found[0] == ""
    assert found[-1] == "the batch's time is over"


def test_an_arrival_has_its_own_limit(start: Start) -> None:
    """One that loops says nothing; another says what it has to."""
    host = start()
    assert host.arrive(Arrival("eve", counter(), "loop", {})) == ArrivalReply(fault="TimeoutError")
    assert host.arrive(Arrival("eve", counter(), "ann", {"a": 1})) == ArrivalReply(({"a": 1},))


def test_code_is_tried_when_it_is_let_in(start: Start) -> None:
    """What does not load in a worker is refused with the reason, and is not kept."""
    host = start()
    good = Program(type="Good", source="class Good:\n    pass\n")
    assert host.admit(sign(good, "eve", EVE)) == good
    for source, reason in (
        ("class Bad(", "Bad does not load: SyntaxError"),
        ("import socket\nclass Bad:\n    pass\n", "Bad does not load: ModuleNotFoundError"),
        ("while True: pass", "Bad does not load: TimeoutError"),
    ):
        bad = Program(type="Bad", source=source)
        with pytest.raises(AdmissionError) as raised:
            host.admit(sign(bad, "eve", EVE))
        assert raised.value.message == reason
        assert bad.hash not in host.programs
    with pytest.raises(AdmissionError, match="ann is not granted to bring code"):
        host.admit(sign(good, "ann", EVE))


def test_programs_that_loop_while_they_load_end_the_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third of a principal's does: the next is refused at once, whatever it is, until it is released. Programs that
    are there run on, and other principals' are tried."""
    monkeypatch.setattr(host_room, "now_us", lambda: 0)
    bring = Programs(dict.fromkeys(("eve", "ann"), GRANTS["eve"]))
    good = [Program(type="Good", source=f"class Good:\n    n = {n}\n") for n in range(2)]
    slow = [Program(type="Slow", source=f"n = {n}\nwhile True: pass\n") for n in range(3)]

    def refusal(host: SandboxHost, program: Program, principal: str = "eve") -> str:
        try:
            host.admit(sign(program, principal, EVE))
        except AdmissionError as error:
            return error.message
        return ""

    with SandboxHost(bring, KEYS, workers=1, allowances={"eve": Allowance(batch_seconds_max=0.05)}) as host:
        assert refusal(host, good[0]) == ""
        assert [refusal(host, one) for one in slow] == ["Slow does not load: TimeoutError"] * 3
        assert [refusal(host, one) for one in good] == ["Good does not load: in quarantine"] * 2
        assert (good[0].hash in bring, good[1].hash in bring) == (True, False)
        assert refusal(host, good[1], "ann") == ""
        shown = Quarantined("eve", slow[2].hash, "Slow", limits.QUARANTINE_US, "TimeoutError", "loading")
        assert host.quarantined() == (shown,)
        assert host.release(slow[2].hash)
        assert refusal(host, good[0]) == ""
