"""`dispatch` into a broker network: what is due arrives at its subscribers, once, through a real broker."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from agvent import Event, EventId, Subscription, connect
from agvent.errors import NetworkFault
from agvent.net.client.deliveries import Delivery
from agvent.net.client.script import ScriptSubscription
from agvent.net.fleet.local import local_broker
from agvent.spark import dispatch
from agvent.spark.streams.network_sink import NetworkSink
from agvent.store.catalogue import subscription_row
from agvent.store.event_columns import LoggedEvent
from agvent.store.log_reader import create_log
from agvent.store.log_writer import LogWriter
from agvent.types import AdvertisedAttribute, Advertisement, AgventType

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTE = AgventType(name="Quote", ancestors=("Price",), attributes=(AdvertisedAttribute("price", "int"),))
DUE = {"ann": "price < 20", "ben": "price >= 10"}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Thirty quotes: the first twenty are due to ann, the last twenty to ben."""
    path = tmp_path / "log"
    create_log(path)
    with LogWriter(path) as writer:
        versions = [
            subscription_row(
                Subscription(id=f"{name}/s", type="Quote", filter=filter),
                version=1,
                subscriber=name,
                home_broker="b1",
                created_at=NOON,
            )
            for name, filter in DUE.items()
        ]
        changes = [
            {"home_broker": "b1", "position": at, "change": "open", "subscription": f"{name}/s", "version": 1}
            for at, name in enumerate(DUE, 1)
        ]
        writer.append_catalogue(
            advertisements=[Advertisement(type=QUOTE, publisher="nyse", broker="b1", advertised_at=NOON)],
            subscriptions=versions,
            changes=[{**change, "changed_at": NOON} for change in changes],
            epochs=[{"entry_broker": "b1", "epoch": 1, "home_broker": "b1", "position": 2, "applied_at": NOON}],
        )
        writer.append_events(logged(price) for price in range(30))
    return path


def logged(price: int) -> LoggedEvent:
    at = NOON + timedelta(seconds=price)
    id = EventId("nyse", price + 1)
    event = Event(type="Quote", ancestors=("Price",), time=at, attributes={"price": price}, id=id)
    return LoggedEvent(event=event, accepted_at=at, entry_broker="b1", epoch=1, schema=QUOTE.schema)


def prices(subscription: ScriptSubscription, count: int) -> list[int]:
    """The prices of so many deliveries, and nothing after them."""
    found = []
    for _ in range(count):
        item = subscription.next(30)
        assert isinstance(item, Delivery), item
        assert item.event.time == NOON + timedelta(seconds=item.event.attributes["price"])
        found.append(item.event.attributes["price"])
    assert subscription.next(0.1) is None
    return found


def test_a_batch_that_runs_again_publishes_what_the_broker_lacks(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    """A driver that fails within a batch goes on behind the last event that the broker has: each comes once, in order,
    to the subscribers it is due to and no others."""
    checkpoint = str(tmp_path / "checkpoint")
    with (
        local_broker(data=tmp_path / "broker") as url,
        connect(url, name="ann") as ann,
        connect(url, name="ben") as ben,
        connect(url, name="eve") as eve,
    ):
        ours = [client.subscribe(type="Price", id="all") for client in (ann, ben, eve)]
        sink = NetworkSink(url, log, checkpoint)

        def dies(due: DataFrame, number: int) -> None:
            sink(due.where(sf.col("position") <= 15) if number == 1 else due, number)
            assert number == 0, "killed"

        with pytest.raises(StreamingQueryException, match="killed"):
            dispatch(spark, log, dies, checkpoint=checkpoint, once=True, events_max=10).awaitTermination()
        dispatch(spark, log, url, checkpoint=checkpoint, once=True, events_max=10).awaitTermination()
        assert prices(ours[0], 20) == list(range(20))
        assert prices(ours[1], 20) == list(range(10, 30))
        assert ours[2].next(0.1) is None


def test_a_broker_that_does_not_know_the_stream_is_not_published_to(
    spark: SparkSession, log: Path, tmp_path: Path
) -> None:
    """Whoever cannot say how far a batch was published would be told it again: that is an error, not a repeat."""
    (tmp_path / "published.json").write_text('{"batch": 3, "first": 12}')
    with local_broker() as url, pytest.raises(NetworkFault, match="not its home"):
        NetworkSink(url, log, str(tmp_path), name="feed")(spark.range(0), 3)
