"""How a message finds its targets: by the routing table, split where paths part, else by targeted broadcast.

A targeted broadcast (ABDES §6.2) goes to everybody once, and only its target interprets it; the others learn the way
it came. A Seek is one whose target answers, and the Answer proves a path for copies that wait (ABDES §6.3).
"""

from __future__ import annotations

from typing import Final

from agvent import limits
from agvent.broker.outbox import Outbox
from agvent.broker.routing.routes import Routes
from agvent.wire.broker_messages import Answer, Body, Routed, Seek
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Trace

SEEN_MAX: Final = 256
"""Broadcasts of one sender that are remembered. A sender has few under way: it seeks a broker once a second at most."""


class Router:
    """Routing for one broker. `links` has the link of each live neighbour."""

    def __init__(self, name: str, out: Outbox) -> None:
        self.name, self.out = name, out
        self.routes = Routes(name)
        self.links: dict[str, str] = {}
        self.names: dict[str, str] = {}  # the inverse of `links`
        self.rtts: dict[str, int] = {}  # of links that are up and whose Hello has not come
        self.boot = 0
        self._broadcasts = 0
        self._seen: dict[str, dict[int, None]] = {}
        self.seeks: dict[str, tuple[int, int]] = {}  # broker -> when to seek it again, and the wait after that

    # Neighbours

    def up(self, neighbour: str, link: str) -> None:
        """A neighbour has said who it is. Said again, it changes nothing."""
        if self.links.get(neighbour) == link:
            return
        self.links[neighbour], self.names[link] = link, neighbour
        self.routes.up(neighbour, self.rtts.pop(link, 0))

    def down(self, link: str) -> str | None:
        """The neighbour behind a link that is down, if it was one."""
        neighbour = self.names.pop(link, None)
        if neighbour is not None and self.links.get(neighbour) == link:
            del self.links[neighbour]
            self.routes.down(neighbour)
        return neighbour

    def tell(self, neighbour: str, message: AnyMessage) -> None:
        self.out.send(self.links[neighbour], message)

    # Routed messages

    def send(self, targets: tuple[str, ...], body: Body) -> None:
        """Sends a body to its targets."""
        self._forward(targets, (), body)

    def _forward(self, targets: tuple[str, ...], trace: Trace, body: Body) -> None:
        passed = {broker for broker, _ in trace}
        groups: dict[str, list[str]] = {}
        for target in targets:
            neighbour = None
            if len(trace) < limits.HOPS_MAX:
                neighbour = self.routes.choose(target, avoid=passed)
            groups.setdefault(neighbour or "", []).append(target)
        nowhere = groups.pop("", None)
        for neighbour, theirs in groups.items():
            self.tell(neighbour, Routed(targets=tuple(theirs), trace=self.routes.extended(trace, neighbour), body=body))
        if nowhere:
            self.broadcast(tuple(nowhere), body)

    def broadcast(self, targets: tuple[str, ...], body: Body) -> None:
        """A targeted broadcast from here."""
        self._broadcasts += 1
        number = (self.boot << 32) + self._broadcasts
        self._is_new(self.name, number)
        for neighbour in self.links:
            trace = self.routes.extended((), neighbour)
            self.tell(neighbour, Routed(targets=targets, trace=trace, body=body, sender=self.name, broadcast=number))

    def came(self, routed: Routed, neighbour: str) -> Body | None:
        """Passes a routed message on; its body if it is for this broker too, and for the first time."""
        self.routes.learn(routed.trace)
        rest = tuple(target for target in routed.targets if target != self.name)
        if routed.broadcast:
            if not self._is_new(routed.sender, routed.broadcast):
                return None
            self._prove(routed)
            if rest and len(routed.trace) < limits.HOPS_MAX:
                self._flood(routed, rest, neighbour)
        else:
            self._prove(routed)
            self._forward(rest, routed.trace, routed.body)
        return routed.body if len(rest) < len(routed.targets) else None

    def _prove(self, routed: Routed) -> None:
        """A Seek or an Answer is proof of the way back to its sender."""
        if isinstance(routed.body, (Seek, Answer)) and routed.trace[0][0] == routed.body.broker:
            self.seeks.pop(routed.body.broker, None)
            self.routes.prove(routed.body.broker, routed.trace)

    def _flood(self, routed: Routed, targets: tuple[str, ...], source: str) -> None:
        passed = {broker for broker, _ in routed.trace}
        for neighbour in self.links:
            if neighbour != source and neighbour not in passed:
                trace = self.routes.extended(routed.trace, neighbour)
                self.tell(
                    neighbour,
                    Routed(
                        targets=targets, trace=trace, body=routed.body, sender=routed.sender, broadcast=routed.broadcast
                    ),
                )

    def _is_new(self, sender: str, number: int) -> bool:
        seen = self._seen.setdefault(sender, {})
        if number in seen:
            return False
        seen[number] = None
        if len(seen) > SEEN_MAX:
            del seen[next(iter(seen))]
        return True

    # Seeking

    def seek(self, broker: str, now: int) -> None:
        """Looks for a way to a broker, not more often than the growing wait allows."""
        due, wait_us = self.seeks.get(broker, (0, limits.SEEK_WAIT_US))
        if now >= due:
            self.seeks[broker] = (now + wait_us, min(2 * wait_us, limits.ANSWER_WAIT_MAX_US))
            self.broadcast((broker,), Seek(self.name))

    def check(self) -> None:
        assert {name: link for link, name in self.names.items()} == self.links
        assert self.routes.links.keys() == self.links.keys()
        self.routes.check()
