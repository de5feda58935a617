"""The agvents of simulated worlds that find their own way, each by another algorithm.

What each may do is known from its event alone, so that a checker can tell whether it did it.
"""

from __future__ import annotations

from typing import Any, Final

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.travel.default_route import DefaultRoute
from agvent.sim.priced import Priced


class Sweep(Priced, Agvent):
    """Goes from one target to the nearest next one, and leaves nobody out."""

    def route(self, server: Any) -> None:
        """In mid-execution, for as long as there are targets."""
        server.deliver()
        while targets := sorted(server.targets(), key=lambda target: (target["cost"], target["broker"])):
            if not server.move(targets[0]["broker"]):
                return  # its budget is spent
            server.deliver()


class Picky(Priced, Agvent):
    """The default route, to those on one floor only."""

    def route(self, server: Any) -> None:
        """Hop by hop, a clone for each way."""
        floor = self.price % 3
        chosen = [one["id"] for one in server.subscribers() if one["context"].get("floor") == floor]
        server.deliver(chosen)
        ways: dict[str, list[str]] = {}
        for target in server.targets():
            ways.setdefault(target["via"] or target["broker"], []).append(target["broker"])
        for neighbour, targets in ways.items():
            server.clone(neighbour, targets)


class Frugal(Priced, Agvent):
    """Looks for one home that has somebody for it, and ends there."""

    def route(self, server: Any) -> None:
        """In the order of the targets' names, hop by hop: it stops at each broker between."""
        while not server.subscribers():
            names = sorted(target["broker"] for target in server.targets())
            ways = {target["broker"]: target["via"] for target in server.targets()}
            if not names or not server.move(ways[names[0]] or names[0]):
                return
        server.deliver()


class Clumsy(DefaultRoute, Priced, Agvent):
    """The default route, if it does not fail."""

    def route(self, server: Any) -> None:
        """Fails at every second price, after it has said something."""
        super().route(server)
        if self.price % 2:
            raise ValueError("lost its way")


COURIERS: Final[tuple[type[Agvent], ...]] = (Sweep, Picky, Frugal, Clumsy)
