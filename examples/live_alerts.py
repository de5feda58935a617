"""A broker network in one script: a subscriber that comes back finds what it missed, in order, once."""

from __future__ import annotations

from agvent import connect, local_broker
from agvent.net.client.deliveries import Delivery

with local_broker() as url:
    with connect(url, name="ada") as ada:
        ada.subscribe("symbol = 'IBM' AND price < 100", id="cheap")

    with connect(url, name="nyse") as exchange:  # ada is away: her subscription stands
        exchange.publish_batch({"symbol": "IBM", "price": price} for price in (101.5, 99.5, 98.0, 103.0))

    with connect(url, name="ada") as ada:
        cheap = ada.subscribe("symbol = 'IBM' AND price < 100", id="cheap")
        for _ in range(2):
            delivery = cheap.next(5)
            assert isinstance(delivery, Delivery)
            print(f"{delivery.id.publisher}:{delivery.id.sequence} at {delivery.event.attributes['price']}")
            delivery.acknowledge()
