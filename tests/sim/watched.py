"""A world whose messages between brokers are written down, for tests that follow them step by step."""

from __future__ import annotations

from collections.abc import Sequence

from agvent.broker.interface import Effect, Input, Send
from agvent.sim.network import GOOD, Conditions
from agvent.sim.topology import ABDES, Edge
from agvent.sim.trace import Trace
from agvent.sim.world import World
from agvent.wire.batches import deliveries_in
from agvent.wire.broker_messages import Routed
from agvent.wire.client_messages import Deliver
from agvent.wire.messages import AnyMessage

SECOND = 1_000_000


class Watch(Trace):
    """Keeps (broker, link, message) of every message a broker sends."""

    def __init__(self) -> None:
        super().__init__(lambda line: None)
        self.sent: list[tuple[str, str, AnyMessage]] = []

    def step(self, at: int, name: str, inputs: list[Input], effects: list[Effect]) -> None:
        self.sent += [(name, effect.link, effect.message) for effect in effects if isinstance(effect, Send)]

    def hops(self, kind: type, *, routed: bool = False) -> list[tuple[str, str]]:
        """Between whom messages of a kind went, in order; `routed`: as bodies, and not by broadcast."""
        if routed:
            found = [(a, b, m) for a, b, m in self.sent if isinstance(m, Routed) and isinstance(m.body, kind)]
            return [(a, b) for a, b, m in found if not m.broadcast]
        return [(a, b) for a, b, m in self.sent if isinstance(m, kind)]

    def broadcasts(self, kind: type) -> list[tuple[str, str]]:
        """Between whom targeted broadcasts with a body of this kind went."""
        return [(a, b) for a, b, m in self.sent if isinstance(m, Routed) and isinstance(m.body, kind) and m.broadcast]


class Watched(World):
    """A fault-free world on given edges, started and settled."""

    def __init__(self, edges: Sequence[Edge] = ABDES, *, slow: Sequence[Edge] = ()) -> None:
        self.watch = Watch()
        super().__init__(1, [edge for edge in edges if edge not in slow], trace=self.watch)
        self.check_every = 1
        self.build(list(slow), Conditions(delay_us=40_000))
        self.start()
        self.wait(6)

    def wait(self, seconds: float) -> None:
        self.run(self.now + int(seconds * SECOND))

    def cut(self, a: str, b: str) -> None:
        """Cuts a link and waits until both ends have noticed."""
        self.network.paths[a, b].cut = self.network.paths[b, a].cut = True
        self.wait(5)

    def mend(self, a: str, b: str) -> None:
        for path in (self.network.paths[a, b], self.network.paths[b, a]):
            path.cut, path.conditions = False, GOOD
        self.wait(5)

    def forget_words(self) -> None:
        """What is watched from now on begins empty."""
        self.watch.sent.clear()

    def delivered(self, client: str) -> list[tuple[int, tuple[str, ...]]]:
        """What a client was given: sequence and subscriptions."""
        return [
            (one.sequence, one.subscriptions)
            for told in self.history.told
            if told.client == client and isinstance(told.message, Deliver)
            for one in deliveries_in(told.message)
        ]
