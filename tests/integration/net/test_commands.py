"""The commands, against a network that `agvent up` runs."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agvent.net.fleet.fleet import free_ports
from agvent.store.line_chunks import CHUNK_BYTES

AGVENT = [sys.executable, "-m", "agvent.cli.main"]
ANY = -1
"""An exit code that does not matter."""

LINKED_WITHIN_S = 120


class Shell:
    """A folder in which commands are given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.up: dict[str, dict[str, str]] = {}  # what `agvent up` said

    def start(self, *words: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*AGVENT, *words], cwd=self.folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1
        )

    def run(self, *words: str, code: int = 0, given: str | None = None) -> str:
        done = subprocess.run(
            [*AGVENT, *words], cwd=self.folder, capture_output=True, text=True, check=False, input=given, timeout=60
        )
        assert code in (ANY, done.returncode), done.stdout + done.stderr
        return done.stdout + done.stderr

    def json(self, *words: str, code: int = 0) -> list[dict[str, Any]]:
        lines = self.run(*words, "--json", code=code).splitlines()
        return [msgspec.json.decode(line) for line in lines if line.startswith("{")]  # not what is said to people

    def until_linked(self) -> list[dict[str, Any]]:
        """The network's status when every link is up."""
        deadline = time.monotonic() + LINKED_WITHIN_S
        while True:
            found = self.json("status")
            if all(link["state"] == "up" for broker in found for link in broker["links"]):
                return found
            assert time.monotonic() < deadline, found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    shell = Shell(tmp_path_factory.mktemp("network"))
    up = shell.start("up", "ring", "--brokers", "3", "--first-port", "0", "--log", "--keep-hours", "1", "--json")
    assert up.stdout is not None
    shell.up = msgspec.json.decode(up.stdout.readline())
    assert sorted(shell.up["brokers"]) == sorted(shell.up["admin"]) == ["B1", "B2", "B3"]
    shell.until_linked()
    yield shell
    up.send_signal(signal.SIGINT)
    said = up.communicate(timeout=30)
    assert (up.returncode, said) == (0, ("", ""))


def test_up_says_which_port_is_taken(tmp_path: Path) -> None:
    """Whoever listens there is no broker of this network: it ends with code 3, and nothing is left running."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = ["up", "line", "--brokers", "2", "--network", "mine", "--first-port", str(port), "--json"]
        said = Shell(tmp_path).run(*words, code=3)
        assert said == (
            f"error: port {port} is taken: B1 cannot listen there\n"
            "hint: --first-port PORT chooses others; 0: any free port\n"
        )
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port + 1))


def test_a_broker_goes_on_when_it_can_say_nothing(tmp_path: Path) -> None:
    """Without room for its output, or a reader of it, it serves all the same."""
    [port] = free_ports(1)
    (tmp_path / "broker.toml").write_text(f'name = "B1"\nlisten = "127.0.0.1:{port}"\n')
    words = [*AGVENT, "broker", "--config", "broker.toml"]
    with Path("/dev/full").open("wb") as full:
        broker = subprocess.Popen(words, cwd=tmp_path, stdout=full, stderr=full)
    status = ["status", "--at", f"127.0.0.1:{port}", "--json"]
    try:
        while "Connection refused" in (said := Shell(tmp_path).run(*status, code=ANY)):
            assert broker.poll() is None
        assert said.startswith("{")
    finally:
        broker.terminate()
        broker.wait(20)


def test_what_is_published_is_printed_by_whoever_subscribed(shell: Shell) -> None:
    """A subscription stands while nobody listens, and a later command prints what came."""
    assert shell.run("subscribe", "price > 100", "--as", "ada", "--id", "dear", "--detach") == "dear is open\n"
    said = shell.run("publish", "-", "--as", "nyse", given='{"price": 120}\n{"price": 90}\n{"price": 130.5}\n')
    assert said.startswith("3 published, 0 rejected in ")
    assert said.endswith("the last is nyse:3\n")
    printed = shell.run("subscribe", "price > 100", "--as", "ada", "--id", "dear", "--count", "2")
    assert printed == 'nyse:1  {"price":120}\nnyse:3  {"price":130.5}\n'
    assert shell.run("unsubscribe", "dear", "--as", "ada") == "dear is ended\n"
    for words in (["dear", "--as", "ada"], ["dear", "--as", "ada", "--json"], ["dear", "--as", "nobody"]):
        said = shell.run("unsubscribe", *words, code=1)
        assert said.startswith(f"{words[2]} has no subscription dear at B")


def test_tail_prints_until_it_is_told_to_stop(shell: Shell) -> None:
    """With --json a line is an object; SIGINT ends it with 130, and its subscription is gone."""
    tail = shell.start("tail", "--topic", "news", "--json")
    while not sum(broker["subscriptions"] for broker in shell.json("status")):
        pass
    shell.run("publish", '{"$topic": "news", "$type": ["Note", "Text"], "n": 1}', "--as", "bbc")
    assert tail.stdout is not None
    line = tail.stdout.readline()
    assert msgspec.json.decode(line) == {
        "id": "bbc:1",
        "event": {"$topic": "news", "$type": ["Note", "Text"], "n": 1},
    }
    tail.send_signal(signal.SIGINT)
    assert (tail.wait(30), *tail.communicate()) == (130, "", "")
    while sum(broker["subscriptions"] for broker in shell.json("status")):
        pass


def test_publish_from_an_idle_pipe_is_told_to_stop(shell: Shell) -> None:
    """SIGINT ends it with 130 though its input is open, and it says what was published."""
    shell.run("subscribe", "idle = 1", "--as", "ida", "--id", "idle", "--detach")
    publish = shell.start("publish", "-", "--as", "pipe")
    assert publish.stdin is not None
    publish.stdin.write('{"idle": 1}\n')
    assert shell.run("subscribe", "idle = 1", "--as", "ida", "--id", "idle", "--count", "1") == 'pipe:1  {"idle":1}\n'
    shell.run("unsubscribe", "idle", "--as", "ida")
    publish.send_signal(signal.SIGINT)
    assert publish.wait(30) == 130
    said, complaints = publish.communicate()
    assert (said.split(" in ")[0], said.split("; ")[-1], complaints) == (
        "1 published, 0 rejected",
        "the last is pipe:1\n",
        "",
    )


def test_publish_says_what_went_out_before_a_mistake(shell: Shell) -> None:
    """The totals come before the error, as JSON too: whoever mends the line knows where to go on."""
    pad = "x" * 1_000
    good = f'{{"pad": "{pad}"}}\n' * (CHUNK_BYTES // len(pad))
    (shell.folder / "half.jsonl").write_text(f"{good}nonsense\n")
    count = shell.json("publish", "half.jsonl", "--as", "half", code=2)[0]["published"]
    assert count > 1
    said = shell.run("publish", "half.jsonl", "--as", "half", code=2)
    assert said.startswith(f"{count:,} published, 0 rejected in ")
    assert f"; the last is half:{2 * count}\nerror: half.jsonl, line {good.count(chr(10)) + 1}: " in said


def test_types_are_advertised_and_shown(shell: Shell) -> None:
    """With who publishes them and where; exit code 1 if there are none."""
    assert shell.run("advertise", "Book", "pages:int", "--as", "acme") == "acme publishes Book\n"
    [found] = shell.json("types", "Book")
    assert (found["publisher"], found["type"]["attributes"]) == (
        "acme",
        [{"name": "pages", "kind": "int", "description": "", "length": 0, "optional": False}],
    )
    assert f"Book(pages: int)  by acme at {found['broker']}" in shell.run("types").splitlines()
    assert shell.run("types", "Book") == f"Book\n  pages  int\n  by acme at {found['broker']}\n"
    assert shell.run("advertise", "Book", "--as", "acme", "--end") == "acme no longer publishes Book\n"
    assert shell.run("types", "Book", code=1) == "nobody publishes Book\n"
    assert shell.run("types", "Book", "--json", code=1) == "nobody publishes Book\n"


def test_a_trace_shows_the_way(shell: Shell) -> None:
    """With a link cut, the event goes the other way round; a broker that was killed comes back."""
    [home] = shell.json("subscribe", "way = 1", "--as", "cy", "--id", "way", "--detach")
    at = {client["client"]: one["broker"] for one in shell.json("status") for client in one["clients"]}
    entry = next(name for name in ("B1", "B2", "B3") if name != at["cy"])
    [transit] = {"B1", "B2", "B3"} - {at["cy"], entry}
    addresses = msgspec.json.decode((shell.folder / "agvent-network" / "network.json").read_bytes())
    cut = {"link": [entry, at["cy"]], "done": "cut", "reached": [entry, at["cy"]], "unreached": {}}
    assert shell.json("link", "cut", entry, at["cy"]) == [cut]
    shell.run("publish", '{"way": 1}', "--as", "dee", "--at", addresses[entry])
    while "arrived" not in [hop["what"] for hop in shell.json("trace", "dee:1")]:
        pass
    hops = [(hop["what"], hop["broker"], hop["peer"]) for hop in shell.json("trace", "dee:1")]
    assert hops == [
        ("entered", entry, ""),
        ("sent", entry, transit),
        ("came", transit, entry),
        ("sent", transit, at["cy"]),
        ("came", at["cy"], transit),
        ("arrived", at["cy"], ""),
    ]
    shell.run("link", "heal", entry, at["cy"])
    boots = {one["broker"]: one["boot"] for one in shell.until_linked()}
    assert shell.run("broker", "kill", transit) == f"{transit}: killed\n"
    while (one := {one["broker"]: one.get("boot") for one in shell_status(shell)})[transit] != boots[transit] + 1:
        assert one[entry] == boots[entry]
    shell.until_linked()
    assert shell.run("trace", "nobody:1", code=1).startswith("no broker remembers nobody:1: it was not published, ")
    assert shell.run("subscribe", "--as", "cy", "--id", "way", "--count", "1") == 'dee:1  {"way":1}\n'
    assert home["pending"] == []


def test_a_link_is_healed_whichever_way_round_it_was_cut(shell: Shell) -> None:
    """Both ends are told: by their names in a network's folder, by their addresses, and each by itself."""

    def states() -> set[str]:
        ends = {"B1": "B2", "B2": "B1"}
        links = [(one["broker"], link) for one in shell.json("status") for link in one["links"]]
        return {link["state"] for broker, link in links if ends.get(broker) == link["neighbour"]}

    assert shell.run("link", "cut", "B2", "B1") == "B2 - B1: cut\n"
    assert states() == {"cut"}
    assert shell.run("link", "heal", "B1", "B2") == "B1 - B2: healed\n"
    shell.until_linked()
    b1, b2 = shell.up["brokers"]["B1"], shell.up["brokers"]["B2"]
    shell.run("link", "cut", "B1", "B2", "--at", f"{b2},{b1}")
    assert states() == {"cut"}
    untold = f"{b1}: the introduction is for broker 'B2', but this is 'B1'"
    assert shell.json("link", "heal", "B1", "B2", "--at", b1, code=1) == [
        {"link": ["B1", "B2"], "done": "heal", "reached": ["B1"], "unreached": {"B2": untold}}
    ]
    said = shell.run("link", "heal", "B1", "B2", "--at", b1, code=1)
    assert said == f"B1 - B2: healed; B2 was not reached, and may keep it cut: {untold}\n"
    assert "cut" in states()
    shell.run("link", "heal", "B2", "B1", "--at", b2, code=1)
    shell.until_linked()


def test_a_broker_that_is_drained_says_so_until_it_is_started_again(shell: Shell) -> None:
    """In the table and as JSON; it takes no clients meanwhile."""
    [before] = [one for one in shell.until_linked() if one["broker"] == "B3"]
    shell.run("broker", "drain", "B3")
    assert [one["broker"] for one in shell.json("status") if one["draining"]] == ["B3"]
    assert "B3 drained" in shell.run("status")
    said = shell.run("publish", "{}", "--at", shell.up["brokers"]["B3"], code=3)
    assert "'B3' is draining" in said
    shell.run("broker", "stop", "B3")
    while {one["broker"]: one.get("boot") for one in shell_status(shell)}["B3"] != before["boot"] + 1:
        pass
    assert not any(one["draining"] for one in shell.until_linked())


def test_the_brokers_of_up_have_figures(shell: Shell) -> None:
    """Each has an admin port on loopback, which `agvent up` and `agvent status --json` name."""
    status = {one["broker"]: one for one in shell.until_linked()}
    assert {name: one["admin"] for name, one in status.items()} == shell.up["admin"]
    for name, address in shell.up["admin"].items():
        assert address.startswith("127.0.0.1:")
        pages = [fetched(address, path) for path in ("/metrics", "/status", "/health")]
        assert f'agvent_link_up{{neighbour="{"B1" if name != "B1" else "B2"}"}} 1' in pages[0].splitlines()
        assert msgspec.json.decode(pages[1])["broker"] == name
        assert pages[2] == "ok\n"


def fetched(address: str, path: str) -> str:
    with urllib.request.urlopen(f"http://{address}{path}", timeout=10) as answer:
        return str(answer.read().decode())


def test_what_bounds_the_log_of_up_needs_one(shell: Shell) -> None:
    """`agvent up` passes --keep-hours and --keep-mb to `agvent log follow`, which it starts with --log only."""
    said = shell.run("up", "--keep-mb", "10", code=2)
    assert said == "error: --keep-mb bounds the event log\nhint: give --log too\n"


def shell_status(shell: Shell) -> list[dict[str, Any]]:
    """The status, whether or not every broker answers."""
    done = subprocess.run(
        [*AGVENT, "status", "--json"], cwd=shell.folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode in (0, 1)
    return [msgspec.json.decode(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["subscribe", "price >>", "--as", "ada"], 2, "error: line 1, column 8: expected a value"),
        (["publish", "{nonsense"], 2, "error: "),
        (["publish", ""], 2, "error: an input has no name\nhint: name a file, or - for standard input\n"),
        (["publish", "nowhere"], 3, "error: nowhere: No such file or directory\n"),
        (["trace", "ada"], 2, "error: 'ada' is not an event\nhint: write publisher:sequence, such as ada:17\n"),
        (["trace", f"ada:{10**18}"], 2, "error: 'ada:1000000000000000000' is not an event\n"),
        (["link", "cut", "B1", "B9"], 2, "error: broker 'B1' has no neighbour 'B9'\nhint: its neighbours: B2, B3\n"),
        (["broker", "kill", "B9"], 2, "error: no broker 'B9' here\nhint: there are B1, B2, B3\n"),
        (["broker", "forget", "B9"], 2, "error: broker 'B9' is not known here\n"),
        (
            ["broker", "forget", "B1", "--from", "B1"],
            2,
            "error: broker 'B1' cannot forget itself\nhint: drain it with `agvent broker drain`",
        ),
        (
            ["status", "--at", "127.0.0.1:1"],
            3,
            "error: 127.0.0.1:1: Connection refused\nhint: is the broker running?\n",
        ),
        (["broker"], 2, "error: --config says which broker to run"),
        (["journal", "show", "nowhere"], 3, "error: nowhere: no journal there\n"),
    ],
)
def test_mistakes_are_explained(shell: Shell, words: list[str], code: int, said: str) -> None:
    """One line that says what is wrong, and an exit code."""
    assert shell.run(*words, code=code).startswith(said)


def test_a_broker_that_is_named_must_be_the_one_at_the_address(shell: Shell) -> None:
    """Whoever says another's address does not kill it by mistake."""
    [one] = [one for one in shell.until_linked() if one["broker"] == "B1"]
    address = msgspec.json.decode((shell.folder / "agvent-network" / "network.json").read_bytes())["B1"]
    for words in (["broker", "kill", "B9"], ["link", "cut", "B9", "B2"]):
        said = shell.run(*words, "--at", address, code=ANY)
        assert said == f"error: {address}: the introduction is for broker 'B9', but this is 'B1'\n"
    assert {again["boot"] for again in shell.until_linked() if again["broker"] == "B1"} == {one["boot"]}


def test_a_librarian_finds_what_was_stored(shell: Shell) -> None:
    """A document is found by its XML in its realm while it stands, and an advertisement by what it says."""
    librarian = shell.start("librarian", "--realm", "eu")
    try:
        (shell.folder / "menu.xml").write_text("<menu><drink price='3'/></menu>")
        while not shell.json("types", "agvent.Answer", code=ANY):
            assert librarian.poll() is None
        stored = shell.run("document", "store", "menu", "menu.xml", "--as", "acme", "--realm", "eu")
        assert stored == "acme/menu: stored\n"
        while not (found := shell.json("discover", "//drink[@price < 4]", code=ANY)):
            assert librarian.poll() is None
        assert [(one["name"], one["realm"], one["xml"]) for one in found] == [
            ("acme/menu", "eu", "<menu><drink price='3'/></menu>")
        ]
        shell.run("document", "withdraw", "menu", "--as", "acme", "--realm", "eu")
        while shell.json("discover", "//drink", code=ANY):
            assert librarian.poll() is None
        shell.run("document", "store", "menu", "menu.xml", "--as", "acme", code=2)
    finally:
        librarian.send_signal(signal.SIGINT)
        said = librarian.communicate(timeout=30)
    where, what = said[0].split(": ", 1)
    assert where in {f"librarian.eu at B{number}" for number in (1, 2, 3)}  # the broker that answered first
    assert (librarian.returncode, what, said[1]) == (0, "realm eu, documents in librarian.eu.db\n", "")


def test_what_happens_is_in_the_log_while_it_happens(shell: Shell) -> None:
    """`agvent up --log` has the network's events in a log that commands read while brokers run."""
    shell.run("publish", '{"scribbled": 1}', "--as", "scribbler")
    while True:
        [found] = shell.json("log", "show", "agvent-network/log")
        if any(contents["rows"] for contents in found["events"]):
            break
    assert set(found["offset"]["ev"]) <= {"B1", "B2", "B3"}
    past = shell.json("tail", "scribbled = 1", "--since", "beginning", "--count", "1")
    assert past == [{"id": "scribbler:1", "event": {"scribbled": 1}}]
