"""An order that finds its own way: to the nearest warehouse first, and on only if it must.

python examples/warehouse.py

Four brokers in a line, as processes: shop – bergen – oslo – rome. Each city has a warehouse, which says of itself what
it has in stock. An Order carries its own routing in its class; a Catalogue has none and takes the default route. Both
are published at the shop, and every warehouse subscribes to both.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agvent import Agvent, connect
from agvent.cli.trace import line_of
from agvent.net.client.deliveries import Delivery
from agvent.net.fleet.fleet import Fleet
from agvent.net.link.dial import ask

STOCK = {"bergen": 40, "oslo": 50, "rome": 100}
LINE = [("shop", "bergen"), ("bergen", "oslo"), ("oslo", "rome")]


class Order(Agvent):
    """So many pieces of something."""

    item: str
    amount: int

    def route(self, server: Any) -> None:
        """Takes what each warehouse has, the nearest first, until it has enough."""
        missing = self.amount
        while missing > 0:
            for warehouse in server.subscribers():
                if missing > 0 and server.deliver([warehouse["id"]]):
                    missing -= warehouse["context"]["stock"]
            nearest = server.targets()[:1]
            if missing <= 0 or not nearest or not server.move(nearest[0]["broker"]):
                return


class Catalogue(Agvent):
    """What the shop sells; for everybody who wants it."""

    item: str


def run(fleet: Fleet) -> None:
    with ExitStack() as clients:

        def client(name: str, broker: str, **options: Any) -> Any:
            return clients.enter_context(connect(str(fleet.members[broker].address), name=name, **options))

        shop = client("ada", "shop")
        shop.advertise(Order)
        shop.advertise(Catalogue)
        wanted = {}
        for city, stock in STOCK.items():
            warehouse = client(f"{city} warehouse", city, context={"stock": stock})
            while not warehouse.types("Catalogue"):  # the brokers are just finding each other
                time.sleep(0.05)
            wanted[city] = warehouse.subscribe("item = 'lamp'")
        shop.publish(Order(item="lamp", amount=70))
        shop.publish(Catalogue(item="lamp"))

        for city, subscription in wanted.items():
            types = []
            while "Catalogue" not in types:  # it was published last, so nothing comes after it
                delivery = subscription.next(30)
                assert isinstance(delivery, Delivery)
                types.append(str(delivery.event.type))
                delivery.acknowledge()
            print(f"{city} received {' and '.join(types)}")
        print("\nThe order's life:")
        for line in life(fleet, "ada", 1):
            print(f"  {line}")


def life(fleet: Fleet, publisher: str, sequence: int) -> list[str]:
    """What the brokers remember of an agvent, as `agvent trace` shows it, without the times."""

    async def hops() -> list[dict[str, Any]]:
        about: dict[str, Any] = {"publisher": publisher, "sequence": sequence, "fast": False}
        return [hop for member in fleet.members.values() for hop in await ask(member.address, "trace", **about)]

    found = sorted(asyncio.run(hops()), key=lambda hop: hop["at"])
    stages = ("created", "admitted", "executed", "delivered", "migrated", "disposed")
    return [line_of(hop, hop["at"]).partition("ms  ")[2] for hop in found if hop["what"] in stages]


def main() -> None:
    with TemporaryDirectory() as folder:
        fleet = Fleet(Path(folder), LINE, ["shop", *STOCK], first_port=0)
        try:
            fleet.start_all()
            fleet.wait_until_up()
            run(fleet)
        finally:
            fleet.stop()


if __name__ == "__main__":
    main()
