"""Behaviours on Spark: the log of a real broker audited by the answers it has, and its agvents asked anew."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent import Subscription, connect
from agvent.errors import CallerError, SandboxFault
from agvent.net.client.deliveries import Delivery
from agvent.net.fleet.collect import collect
from agvent.net.fleet.local import local_broker
from agvent.spark import match
from agvent.store.log_reader import LogReader
from tests.publishing_house import CANARY, Book, book

NOBODY_ASKED = [
    Subscription(id="dear", type="Book", filter="wholesale_price(7, 'Oslo') > 1800"),
    Subscription(id="canary", type="Publication", filter=f"references_contain('{CANARY}') AND margin() < 0.2"),
    Subscription(id="notes", filter="n > 1"),
]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a broker's data, and the log of it."""
    folder = tmp_path_factory.mktemp("agvents")
    with (
        local_broker("B1", data=folder / "data") as url,
        connect(url, name="house") as house,
        connect(url, name="shop") as shop,
    ):
        house.advertise(Book)
        cheap = shop.subscribe("references_contain('Alonso, E.') AND wholesale_price(10) < 2000", type="Book", id="s")
        books = [book(list_price=100.0 * n, margin=0.1 * n) for n in range(4)]
        house.publish_batch([*books, {"n": 1}, {"n": 2}])
        for _ in range(2):
            item = cheap.next(30)
            assert isinstance(item, Delivery)
            item.acknowledge()
    collect([folder / "data"], folder / "log")
    return folder


@pytest.mark.usefixtures("spark")
def test_the_log_has_what_it_was_judged_by(network: Path) -> None:
    """Its own subscriptions by the recorded answers: nothing is run. Cargoes are there as they travelled."""
    log = LogReader(network / "log")
    due = match(log, keep=["sequence"]).select("sequence", "subscription").collect()
    assert sorted(map(tuple, due)) == [(1, "shop/s"), (2, "shop/s")]
    [program] = log.table("programs").to_pylist()
    cargoes = log.table("cargoes").to_pylist()
    assert [(row["sequence"], row["program"], row["opaque"]) for row in cargoes] == [
        (sequence, program["program"], ["margin"]) for sequence in range(1, 5)
    ]
    assert CANARY.encode() not in b"".join(row["hidden"] + row["sealed"] for row in cargoes)


@pytest.mark.usefixtures("spark")
def test_logged_agvents_are_asked_what_nobody_asked_them(network: Path) -> None:
    """With the hosts' key; without it their answers are unknown. Plain events are matched beside them."""
    log, key = LogReader(network / "log"), network / "data" / "hosts.key"
    asked = match(log, NOBODY_ASKED, hosts_key=key)
    assert sorted(map(tuple, asked.select("event", "subscription").collect())) == [
        ("house:1", "canary"),
        ("house:2", "canary"),
        ("house:2", "dear"),
        ("house:3", "dear"),
        ("house:4", "dear"),
        ("house:6", "notes"),
    ]
    recorded = match(log, NOBODY_ASKED)
    assert [tuple(row) for row in recorded.select("event", "subscription").collect()] == [("house:6", "notes")]


@pytest.mark.usefixtures("spark")
def test_what_cannot_be_asked_is_refused_first(network: Path, tmp_path: Path) -> None:
    """A key file that is none; the log's own subscriptions, whose answers are recorded."""
    log = LogReader(network / "log")
    with pytest.raises(SandboxFault, match="the hosts' key file cannot be read"):
        match(log, NOBODY_ASKED, hosts_key=tmp_path / "none.key")
    with pytest.raises(CallerError, match="the log already has the answers to its own subscriptions"):
        match(log, hosts_key=network / "data" / "hosts.key")
