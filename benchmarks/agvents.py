"""Behaviour calls per second of one sandbox worker: through the host alone, through a broker with a host process, and
as a task on Spark runs them over an event log, without the JVM around it.

python benchmarks/agvents.py [--json] [--page]

The agvents are books whose references and margin are hidden: each is decoded, decrypted, checked, run and judged. No
two are in the same state, so no answer is kept. An agvent without calls is compared with a plain event of the same
attributes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from msgspec.structs import replace

from agvent import Agvent, Opaque, Subscriptions
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.execution.sandbox import Sandbox, Task
from agvent.agents.execution.signed_programs import Programs, encode_code, sign
from agvent.agents.secrecy.hidden_fields import Hider, HostKeys
from agvent.broker.broker import Broker
from agvent.broker.interface import Append, Effect, Input, LinkUp, MessageCame, Ran, Run, Send, Synced, Tick
from agvent.event import Event, EventId
from agvent.filters.subscription import Subscription
from agvent.sandbox.host import SandboxHost
from agvent.sandbox.host_process import HostProcess
from agvent.spark.matches.log_events import parts_of
from agvent.spark.matches.sandbox_answers import SandboxAnswers
from agvent.spark.rosters.roster import Roster
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import LogReader, create_log
from agvent.store.log_writer import LogWriter
from agvent.types import Advertisement
from agvent.wire.client_messages import Advertise, Attach, Deliver, Publish, Received, Subscribe
from agvent.wire.codec import encode_event
from agvent.wire.parts import Answered, BehaviourCall, Publication
from page import made_by, replace_block, short, table
from process_tree import cpu_seconds

BATCH: Final = 512
"""Agvents that a host is given at once; a broker gives what came since its last step."""
PARTS: Final = 5
TARGETS: Final = {"broker": 50_000, "task on Spark": 30_000}
CITIES: Final = ("Istanbul", "Ankara", "Oslo", "Rome", "Lima", "Kyoto", "Turin", "Basel", "Delhi")


class Book(Agvent):
    """A book of a publishing house."""

    author: str
    pages: int
    list_price: float
    margin: Opaque[float]
    _references: list[str]

    def references_contain(self, author: str) -> bool:
        """Does the book cite this author?"""
        return author in self._references

    def wholesale_price(self, amount: int, destination: str) -> float:
        """Price in dollars for an order."""
        rate = 0.55 if amount >= 1_000 else 0.7
        return amount * self.list_price * rate + (900.0 if destination == "Istanbul" else 1_500.0)


def books(count: int, hider: Hider) -> list[Event]:
    """Books of which no two have the same price."""
    references = ["Alonso, E.", "Plekhanova, V.", "Sahingoz, O. K."]
    made = (
        Book(author="V. P.", pages=300, list_price=50.0 + n / 100, margin=0.3, _references=references)
        for n in range(count)
    )
    return [published(one, "house", hider=hider) for one in made]


def calls(count: int) -> tuple[BehaviourCall, ...]:
    """So many different calls, as the filters of several subscribers make them."""
    prices = [BehaviourCall("wholesale_price", (1_000, city)) for city in CITIES]
    return (BehaviourCall("references_contain", ("Alonso, E.",)), *prices)[:count]


def through_host(host: Sandbox, asked: tuple[BehaviourCall, ...], events: list[bytes]) -> int:
    """Runs the calls on every event; how many had an answer."""
    answered = 0
    for first in range(0, len(events), BATCH):
        tasks = [Task("house", event, asked) for event in events[first : first + BATCH]]
        answered += sum(not answer.fault for answers in host.run(tasks) for answer in answers)
    return answered


class Network:
    """One broker, its journal in memory, a publisher and a subscriber of it, and a sandbox."""

    def __init__(self, filters: list[str], sandbox: Sandbox, cls: type[Agvent] = Book) -> None:
        self.broker, self.sandbox = Broker("B1", 1), sandbox
        self.published = 0
        self.answered = 0
        self.now = 0
        self.thread = ThreadPoolExecutor(1)
        self.asked: deque[tuple[list[Run], Future[list[tuple[Answered, ...]]]]] = deque()
        self.step([Tick()])
        for client in ("house", "shop"):
            self.step(
                [
                    LinkUp(client, to_broker=False),
                    MessageCame(
                        client,
                        Attach(client=client, incarnation=0, received=0, fast_received=0, sequence=1, fast_sequence=1),
                    ),
                ]
            )
        self.step([MessageCame("house", Advertise(1, type_of(cls)))])
        for number, text in enumerate(filters, 1):
            self.step([MessageCame("shop", Subscribe(number, 1, Subscription(id=f"s{number}", filter=text)))])

    def step(self, inputs: list[Input]) -> None:
        """Steps until nothing is left to do but to wait for the sandbox. All the runs of a step go to it together."""
        while inputs:
            self.now += 1_000
            effects: list[Effect] = self.broker.step(inputs, self.now)
            inputs = []
            if appends := [effect.number for effect in effects if isinstance(effect, Append)]:
                inputs.append(Synced(appends[-1]))
            for effect in effects:
                if isinstance(effect, Send) and isinstance(effect.message, Deliver):
                    inputs.append(MessageCame("shop", Received(effect.message.number, 0)))
            if runs := [effect for effect in effects if isinstance(effect, Run)]:
                self.asked.append((runs, self.thread.submit(self.sandbox.run, [_task(run) for run in runs])))

    def wait(self, *, until: int) -> None:
        """Takes the sandbox's answers until it has at most so many batches left."""
        while len(self.asked) > until:
            runs, answers = self.asked.popleft()
            found = answers.result()
            self.answered += sum(map(len, found))
            self.step([Ran(run.number, of_run) for run, of_run in zip(runs, found, strict=True)])

    def publish(self, events: list[bytes]) -> int:
        """Publishes them, a batch while the one before it is with the sandbox, as a broker's process does; how many
        answers that took."""
        before = self.answered
        for first in range(0, len(events), BATCH):
            inputs: list[Input] = []
            for event in events[first : first + BATCH]:
                self.published += 1
                inputs.append(MessageCame("house", Publish(Publication("house", self.published, event))))
            self.step(inputs)
            self.wait(until=1)
        self.wait(until=0)
        return self.answered - before


def _task(run: Run) -> Task:
    return Task(run.publisher, run.event, run.calls)


def measured(what: str, events: list[bytes], calls: int, work: Callable[[list[bytes]], int]) -> dict[str, Any]:
    """A row: the median of five parts of the events by wall clock, and the CPU time of this process and all it
    started. `work` says how many calls had an answer."""
    part = len(events) // PARTS
    rates = []
    cpu = cpu_seconds(os.getpid())
    for first in range(0, part * PARTS, part):
        start = time.perf_counter()
        done = work(events[first : first + part])
        rates.append(done / (time.perf_counter() - start))
        assert done == part * calls, f"{what}: {done} of {part * calls}"
    cpu = (cpu_seconds(os.getpid()) - cpu) / (part * PARTS * calls)
    return {"what": what, "agvents": len(events), "per_s": round(median(rates)), "cpu_us": round(cpu * 1e6, 1)}


@contextmanager
def host_process(key: X25519PrivateKey, house: Ed25519PrivateKey) -> Iterator[HostProcess]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hosts.key"
        file.write_bytes(key.private_bytes_raw())
        grants = {"house": frozenset({house.public_key().public_bytes_raw()})}
        with HostProcess(file, grants=grants, workers=1) as host:
            host.admit(sign(program_of(Book), "house", house))
            yield host


def measure(count: int) -> list[dict[str, Any]]:
    key, house = X25519PrivateKey.generate(), Ed25519PrivateKey.generate()
    keys = HostKeys([key])
    hider = Hider(keys.public, os.urandom)
    made = books(count + BATCH, hider)
    warm, events = [encode_event(one) for one in made[:BATCH]], [encode_event(one) for one in made[BATCH:]]
    rows = []
    programs = Programs()
    programs.trust(program_of(Book))
    for asked in (calls(2), calls(10)):
        with SandboxHost(programs, keys, workers=1) as host:
            through_host(host, asked, warm)
            what = f"host alone, {len(asked)} calls an agvent"
            rows.append(measured(what, events, len(asked), partial(through_host, host, asked)))
    filters = [f"pages > 200 AND wholesale_price(1000, '{city}') < 20000" for city in CITIES]
    rows.append(through_spark(made[BATCH:], filters, key, house))
    for amount in (2, 9):
        with host_process(key, house) as process:
            network = Network(filters[:amount], process)
            network.publish(warm)
            what = f"broker and host process, {amount} calls an agvent"
            rows.append(measured(what, events, amount, network.publish))
    return rows


def through_spark(
    events: list[Event], filters: list[str], key: X25519PrivateKey, house: Ed25519PrivateKey
) -> dict[str, Any]:
    """New subscriptions over a log of agvents, as one task matches them."""
    index = Subscriptions(Subscription(id=f"s{at}", filter=text, type="Book") for at, text in enumerate(filters))
    with tempfile.TemporaryDirectory() as folder:
        file, log = Path(folder) / "hosts.key", Path(folder) / "log"
        file.write_bytes(key.private_bytes_raw())
        write_log(log, events, encode_code(sign(program_of(Book), "house", house)))
        reader, roster = LogReader(log), Roster.of(index)
        answers = SandboxAnswers(reader, file)
        [part] = parts_of(reader)
        table = pq.read_table(part.slice.path, partitioning=None)
        answers.matched(roster, table.slice(0, BATCH), part.type, part.name)

        def work(some: list[bytes]) -> int:
            first = done[0]
            done[0] += len(some)
            answers.matched(roster, table.slice(first, len(some)), part.type, part.name)
            return len(some) * len(filters)

        done = [0]
        what = f"task on Spark, {len(filters)} calls an agvent"
        return measured(what, [b""] * table.num_rows, len(filters), work)


def write_log(path: Path, events: list[Event], code: bytes) -> None:
    """The events as a broker's log has them."""
    at = datetime(2026, 1, 1, tzinfo=UTC)
    advertisement = Advertisement(type=type_of(Book), publisher="house", broker="B1", advertised_at=at)
    program = {"program": program_of(Book).hash, "publisher": "house", "broker": "B1", "code": code, "brought_at": at}
    key = {"publisher": "house", "quality": "durable", "entry_broker": "B1"}
    cargoes = [
        {
            **key,
            "sequence": n,
            "accepted_at": at,
            "program": cargo.program,
            "hidden": cargo.hidden,
            "opaque": ["margin"],
        }
        for n, cargo in enumerate((one.cargo for one in events), 1)
        if cargo is not None
    ]
    create_log(path)
    with LogWriter(path) as log:
        log.append_catalogue(advertisements=[advertisement], programs=[program])
        log.append_tables("behaviours", {"cargoes": cargoes})
        log.append_events(
            LoggedEvent(event=replace(one, id=EventId("house", n)), accepted_at=at, entry_broker="B1", epoch=0)
            for n, one in enumerate(events, 1)
        )


def attributes_only(count: int) -> dict[str, Any]:
    """What an agvent costs a broker that nobody asks anything, beside a plain event: µs of CPU each, best of five."""
    keys = HostKeys([X25519PrivateKey.generate()])
    agvents = books(count, Hider(keys.public, os.urandom))
    plain = [Event(type=one.type, attributes=one.attributes) for one in agvents]
    programs = Programs()
    programs.trust(program_of(Book))
    best: dict[str, float] = {}
    with SandboxHost(programs, keys, workers=1) as host:
        for _ in range(5):
            for name, events in (("plain", plain), ("agvent", agvents)):
                network = Network(["pages > 200 AND list_price < 60"], host)
                content = [encode_event(one) for one in events]
                start = time.process_time()
                network.publish(content)
                best[name] = min(best.get(name, 1e9), (time.process_time() - start) / count * 1e6)
    return {name: round(value, 1) for name, value in best.items()}


def _aim(row: dict[str, Any]) -> str:
    """What the project set out to reach, and whether it did."""
    for what, least in TARGETS.items():
        if row["what"].startswith(what):
            return f"{least:,}: {'met' if row['per_s'] >= least else 'missed'}"
    return ""


def write_page(rows: list[dict[str, Any]], only: dict[str, Any]) -> None:
    lines = [[row["what"], short(row["per_s"]), f"{row['cpu_us']:.1f}", _aim(row)] for row in rows]
    headings = ["one worker", "calls/s", "µs of CPU a call, all processes", "aim"]
    more = (only["agvent"] / only["plain"] - 1) * 100
    replace_block(
        "agvents",
        f"{table(headings, lines)}\n\n"
        f"An agvent of which nothing is asked takes a broker {only['agvent']:.0f} µs, a plain event "
        f"{only['plain']:.0f} µs ({more:+.0f} %).\n\n{made_by('python benchmarks/agvents.py --page')}",
    )


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--agvents", type=int, default=10_000)
    ask.add_argument("--json", action="store_true", help="print one JSON object")
    ask.add_argument("--page", action="store_true", help="also write docs/performance.md")
    given = ask.parse_args()
    rows, only = measure(given.agvents), attributes_only(min(given.agvents, 5_000))
    if given.page:
        write_page(rows, only)
    if given.json:
        print(json.dumps({"rows": rows, "attributes_only": only}))
        return
    for row in rows:
        print(f"{row['what']:<45} {row['per_s']:>9,} calls/s   {row['cpu_us']:>6.1f} µs of CPU a call")
    print(f"nothing asked: agvent {only['agvent']} µs, plain event {only['plain']} µs of the broker's CPU")


if __name__ == "__main__":
    main()
