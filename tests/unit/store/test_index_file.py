"""Saved indexes: what comes back is what was saved, and a damaged file is refused before any of it is used."""

from __future__ import annotations

import os
import resource
import stat
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from agvent.errors import IndexFileError
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from agvent.store.index_file import load_index, save_index

EVENTS = [
    {"symbol": "IBM", "price": 12.5, "tags": ["a"], "n": 2**53 + 1, "$topic": "a/b"},
    {"symbol": "HP", "price": 99, "note": "Hello"},
    {},
]
FILTERS = {
    "equal": "symbol = 'IBM'",
    "range": "price BETWEEN 10 AND 20",
    "like": "symbol LIKE 'I%M'",
    "member": "symbol IN ('HP', 'IBM') OR price > 1000",
    "oracle": "price * 2 > 20 AND lower(note) = 'hello'",
    "exact": "n = 9007199254740993",
    "element": "contains(tags, 'a')",
    "missing": "price IS NULL",
}


def sample() -> Subscriptions:
    made = Subscriptions(Subscription(id=id, filter=text) for id, text in FILTERS.items())
    made.add("topic", pattern="a/#", destination=65)
    made.add("gone", "price > 0")
    made.remove("gone")
    return made


def answers(made: Subscriptions) -> list[list[str]]:
    return [made.match(event) for event in EVENTS]


@pytest.mark.parametrize("verify", [True, False])
def test_a_loaded_index_answers_as_the_saved_one(tmp_path: Path, verify: bool) -> None:
    """Matches, destinations, names and statistics survive, residuals and deleted subscriptions included."""
    made = sample()
    save_index(made, tmp_path / "index")
    loaded = load_index(tmp_path / "index", verify=verify)
    assert (len(loaded), answers(loaded)) == (9, answers(made))
    assert list(loaded.match_batch(EVENTS).by_event()) == list(made.match_batch(EVENTS).by_event())
    assert loaded.destinations(EVENTS).tolist() == made.destinations(EVENTS).tolist()
    assert sorted(loaded) == sorted(made)
    assert loaded.get("topic") == Subscription(id="topic", pattern="a/#")


def test_a_loaded_index_can_be_changed_and_saved_again(tmp_path: Path) -> None:
    """The first change copies it into memory; the file stays as it was."""
    made = sample()
    save_index(made, tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    loaded = load_index(tmp_path / "index")
    for one in (made, loaded):
        one.remove("equal")
        one.add("new", "symbol LIKE '%B%' AND price + 1 > 3")
        one.replace("range", "price > 50")
    assert (
        answers(loaded)
        == answers(made)
        == [
            ["element", "exact", "like", "member", "new", "topic"],
            ["member", "oracle", "range"],
            ["missing"],
        ]
    )
    loaded.compact()
    assert answers(loaded) == answers(made)
    save_index(loaded, tmp_path / "second")
    assert answers(load_index(tmp_path / "second")) == answers(made)
    assert (tmp_path / "index").read_bytes() == before


def test_an_index_of_nothing_is_saved_too(tmp_path: Path) -> None:
    """No subscriptions, no matches, no special case."""
    save_index(Subscriptions(), tmp_path / "index")
    loaded = load_index(tmp_path / "index")
    assert (len(loaded), answers(loaded)) == (0, [[], [], []])
    loaded.add("s", "price > 1")
    assert answers(loaded) == [["s"], ["s"], []]


def test_any_flipped_byte_is_refused(tmp_path: Path) -> None:
    """Whatever byte of the file is damaged, loading says so; the padding between arrays holds nothing."""
    save_index(sample(), tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    refused = 0
    for at in range(0, len(data), 97):
        if data[at]:
            data[at] ^= 0xFF
            (tmp_path / "damaged").write_bytes(data)
            with pytest.raises(IndexFileError):
                load_index(tmp_path / "damaged")
            data[at] ^= 0xFF
            refused += 1
    assert refused > 50


def test_a_cut_off_file_is_refused(tmp_path: Path) -> None:
    """Every length short of the whole gives an error that names the file."""
    save_index(sample(), tmp_path / "index")
    data = (tmp_path / "index").read_bytes()
    for size in (0, 5, 20, 100, len(data) // 2, len(data) - 1):
        (tmp_path / "short").write_bytes(data[:size])
        with pytest.raises(IndexFileError, match="short"):
            load_index(tmp_path / "short")


def test_a_file_of_another_format_says_which(tmp_path: Path) -> None:
    """A newer format is refused by number, with what to do."""
    save_index(sample(), tmp_path / "index")
    data = bytearray((tmp_path / "index").read_bytes())
    data[8] = 9
    (tmp_path / "newer").write_bytes(data)
    with pytest.raises(IndexFileError, match="has format 9, this Agvent reads 1") as caught:
        load_index(tmp_path / "newer")
    assert caught.value.hint == "save it again"


def test_a_missing_file_and_a_missing_folder_are_named(tmp_path: Path) -> None:
    """The error says which path and why."""
    with pytest.raises(IndexFileError, match="nowhere: No such file or directory"):
        load_index(tmp_path / "nowhere")
    with pytest.raises(IndexFileError, match=r"cannot save the index to .*: No such file or directory"):
        save_index(sample(), tmp_path / "no folder" / "index")


def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A full disk (here: a limit on file size) is reported; the index saved before is whole, and nothing is left."""
    save_index(sample(), tmp_path / "index")
    before = (tmp_path / "index").read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(IndexFileError, match="cannot save the index"):
            save_index(sample(), tmp_path / "index")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (os.listdir(tmp_path), (tmp_path / "index").read_bytes()) == (["index"], before)


def test_threads_that_save_to_one_path_never_publish_half_a_file(tmp_path: Path) -> None:
    """Whoever comes last wins; what lies there is always whole, and nothing is left over."""
    made = sample()
    save_index(made, tmp_path / "index")

    def save() -> None:
        for _ in range(20):
            save_index(made, tmp_path / "index")

    savers = [threading.Thread(target=save) for _ in range(2)]
    for saver in savers:
        saver.start()
    while any(saver.is_alive() for saver in savers):
        assert len(load_index(tmp_path / "index")) == 9
    assert os.listdir(tmp_path) == ["index"]


def test_saving_while_another_thread_compacts_saves_everything(tmp_path: Path) -> None:
    """A save waits for a compaction and has every change made before it."""
    made = sample()
    stop = threading.Event()

    def compact() -> None:
        while not stop.is_set():
            made.compact()

    compactor = threading.Thread(target=compact)
    compactor.start()
    try:
        for n in range(30):
            made.add(f"n{n}", "price > 1")
            save_index(made, tmp_path / "index")
            assert len(load_index(tmp_path / "index")) == 10 + n
    finally:
        stop.set()
        compactor.join()


def test_a_loaded_index_gives_a_string_one_code_whoever_asks_first(tmp_path: Path) -> None:
    """Readers and a writer that meet on a freshly loaded index agree on its strings."""
    save_index(
        Subscriptions(Subscription(id=f"s{n}", filter=f"symbol = 'x{n}'") for n in range(20_000)), tmp_path / "index"
    )
    for _ in range(5):
        loaded = load_index(tmp_path / "index", verify=False)
        readers = [threading.Thread(target=lambda one=loaded: one.match({"symbol": "x5"})) for _ in range(3)]
        for reader in readers:
            reader.start()
        loaded.add("new", "symbol = 'NEW'")
        for reader in readers:
            reader.join()
        assert loaded.match({"symbol": "NEW"}) == ["new"]
        assert list(loaded.match_json(b'{"symbol": "NEW"}').by_event()) == [(0, ["new"])]


def test_a_context_comes_back_with_its_kinds(tmp_path: Path) -> None:
    """Bytes, timestamps and numbers of a context survive; any mapping comes back as a dict."""
    context = {"floor": 3, "key": b"\x00\xff", "since": datetime(2026, 1, 2, tzinfo=UTC), "in": {"x": [1.5, None]}}
    made = Subscriptions([Subscription(id="s", context=MappingProxyType(context))])
    save_index(made, tmp_path / "index")
    assert load_index(tmp_path / "index").get("s").context == context


def test_a_saved_index_has_the_permissions_that_the_umask_leaves(tmp_path: Path) -> None:
    """Another user's Spark worker maps it."""
    before = os.umask(0o022)
    try:
        save_index(Subscriptions([Subscription(id="s", filter="a = 1")]), tmp_path / "index")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "index").stat().st_mode) == 0o644


def test_a_saved_index_of_xpaths_decides_as_before(tmp_path: Path) -> None:
    """Values of documents are slots like others."""
    made = Subscriptions(
        Subscription(id=f"s{n}", language="xpath", filter=f"/menu/drink[price > {n} and @id = 'x']") for n in range(50)
    )
    save_index(made, tmp_path / "index")
    event = {"$xml": "<menu><drink id='x'><price>2.5</price></drink></menu>"}
    assert load_index(tmp_path / "index").match(event) == made.match(event) == ["s0", "s1", "s2"]
