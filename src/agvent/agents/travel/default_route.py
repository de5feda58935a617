"""The default route, in the words that a route of one's own is written in (ABDES §5, seed 002 §3.3).

Brokers do not run this: agvents without a route take the equivalent of it with no sandbox involved. It is here to be
read, to be inherited by a class that changes a part of it, and to be tested against what brokers do.
"""

from __future__ import annotations

from typing import Any


class DefaultRoute:
    """A mixin: `class Book(DefaultRoute, Agvent)`."""

    def route(self, server: Any) -> None:
        """Delivers here, and sends a clone to each neighbour that targets lie behind."""
        server.deliver()
        ways: dict[str, list[str]] = {}
        for target in server.targets():
            ways.setdefault(target["via"] or target["broker"], []).append(target["broker"])
        for neighbour, targets in ways.items():
            server.clone(neighbour, targets)
