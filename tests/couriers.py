"""Agvents that find their own way, and surroundings for them."""

from __future__ import annotations

from typing import Any

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.publishing import published
from agvent.agents.travel.default_route import DefaultRoute
from agvent.agents.travel.stop import Local, Neighbour, Stop, Surroundings, Way
from agvent.event import Budget
from agvent.wire.codec import encode_event


class Order(Agvent):
    """Takes what it needs from the nearest warehouse first, and goes on only if it must."""

    amount: int

    def route(self, server: Any) -> None:
        missing = self.amount
        while missing > 0:
            for warehouse in server.subscribers():
                if missing > 0 and server.deliver([warehouse["id"]]):
                    missing -= warehouse["context"]["stock"]
            targets = sorted(server.targets(), key=lambda target: target["cost"])
            if missing <= 0 or not targets or not server.move(targets[0]["broker"]):
                return


class Everywhere(DefaultRoute, Agvent):
    """Takes the default route, in code."""


class Talker(Agvent):
    """Says what it was given, and nothing else."""

    said: dict[str, Any]

    def route(self, server: Any) -> None:
        reply = server.say(self.said)
        if reply["performative"] == "not-understood":
            server.deliver()


class Clumsy(Agvent):
    """Delivers, and fails."""

    def route(self, server: Any) -> None:
        server.deliver()
        raise ValueError("lost its way")


class Endless(Agvent):
    """Asks for ever."""

    def route(self, server: Any) -> None:
        while True:
            server.targets()


class Inquirer(Agvent):
    """Asks as often as it was told to, and delivers."""

    times: int

    def route(self, server: Any) -> None:
        for _ in range(self.times):
            server.budget()
        server.deliver()


ALL = (Order, Everywhere, Talker, Clumsy, Endless)


def surroundings(server: str = "A", **changes: Any) -> Surroundings:
    """A broker between B and C, with targets behind both and two subscribers of its own."""
    given: dict[str, Any] = {
        "agvent": "house:1",
        "targets": (Way("B", 200, "B"), Way("C", 100, "C"), Way("D", 300, "B")),
        "neighbours": (Neighbour("B", 200), Neighbour("C", 100)),
        "subscribers": (Local("ann/1", "ann", {"stock": 3}), Local("bob/1", "bob", {"stock": 5})),
        "budget": Budget(),
        "event_bytes": 1_000,
        "now": 1_700_000_000_000_000,
    }
    return Surroundings(server=server, **(given | changes))


def stop(
    agvent: Agvent, around: Surroundings | None = None, snapshot: bytes = b"", *, principal: str = "house"
) -> Stop:
    """An agvent of the house's, or of another publisher's, at a stop."""
    return Stop(principal, encode_event(published(agvent, principal)), snapshot, around or surroundings())
