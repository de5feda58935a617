"""Readers and writers at the same time: a reader sees every change whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from agvent.filters.subscription import Subscription
from agvent.matching import subscriptions as module
from agvent.matching.subscriptions import Subscriptions

CHANGES = 3000


def while_changing(change: Callable[[int], None], read: Callable[[], None]) -> None:
    """Reads until a writer in another thread has made all its changes; what either raises is raised here."""
    failures: list[BaseException] = []
    done = threading.Event()

    def write() -> None:
        try:
            for n in range(CHANGES):
                change(n)
        except BaseException as error:  # noqa: BLE001 - handed over to the main thread
            failures.append(error)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        while not done.is_set():
            read()
    finally:
        writer.join()
    if failures:
        raise failures[0]


@pytest.fixture(autouse=True)
def frequent_compaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TAIL_MIN", 200)


def one_of_two() -> Subscriptions:
    """Many subscriptions that no event here matches, and one that always does, whichever filter it has."""
    others = [Subscription(id=f"o{n}", filter=f"symbol = 'x{n}' AND price > {n}") for n in range(2000)]
    return Subscriptions([*others, Subscription(id="s", filter="symbol = 'IBM'")])


FILTERS = ("symbol = 'IBM'", "price BETWEEN 1 AND 2", "NOT volume > 5", "symbol LIKE 'I%'")
EVENT = {"symbol": "IBM", "price": 1.5, "volume": 3}


def test_a_replaced_filter_is_seen_once_by_single_matches() -> None:
    """While a filter is replaced by another that matches too, the subscription matches exactly once, always."""
    made = one_of_two()

    def read() -> None:
        assert made.match(EVENT) == ["s"]

    while_changing(lambda n: made.replace("s", FILTERS[n % 4]), read)


def test_a_replaced_filter_is_seen_once_in_batches_without_the_lock() -> None:
    """The same for batches, during which the writer really runs."""
    made = one_of_two()
    batch = [EVENT] * 100

    def read() -> None:
        assert list(made.match_batch(batch).by_event()) == [(n, ["s"]) for n in range(100)]

    while_changing(lambda n: made.replace("s", FILTERS[n % 4]), read)


def test_what_stays_matches_while_others_come_and_go() -> None:
    """Additions, removals and compactions of others neither hide a subscription nor show one that is gone."""
    made = one_of_two()
    made.add("gone", "symbol = 'IBM'")
    made.remove("gone")

    def change(n: int) -> None:
        made.add(f"new{n}", f"symbol = 'y{n}' AND dims[{n % 7}] > {n}")
        if n >= 50:
            made.remove(f"new{n - 50}")

    def read() -> None:
        assert made.match(EVENT) == ["s"]
        assert list(made.match_batch([EVENT] * 40).by_event()) == [(n, ["s"]) for n in range(40)]

    while_changing(change, read)
    assert len(made) == 2051


def test_compacting_in_another_thread_loses_no_change() -> None:
    """Changes made while `compact` runs are there afterwards."""
    made = one_of_two()
    stop = threading.Event()

    def compact() -> None:
        while not stop.is_set():
            made.compact()

    compactor = threading.Thread(target=compact)
    compactor.start()
    try:
        for n in range(CHANGES):
            made.add(f"new{n}", f"symbol = 'y{n}'")
            if n % 3 == 0:
                made.remove(f"new{n}")
            assert made.match({"symbol": f"y{n}"}) == ([] if n % 3 == 0 else [f"new{n}"])
    finally:
        stop.set()
        compactor.join()
    for n in range(CHANGES):
        assert made.match({"symbol": f"y{n}"}) == ([] if n % 3 == 0 else [f"new{n}"])
