"""What an event's behaviours answered, as a function that filters may call.

Matching never waits: the first one asks, and notes what it asked; a sandbox gives the answers; the next one finds them.
In a broker they travel with the event, so that its homes, and whoever audits it later, judge by the same answers
without running anything.
"""

from __future__ import annotations

from typing import Any

from agvent.event import Cargo, Value
from agvent.wire.codec import encode_value
from agvent.wire.messages import Answered, Call


class Answers:
    """Answers to calls on an agvent; a call without one is unknown, and is noted in `missing`.

    `opaque` are the attributes whose values do not leave a sandbox: None if there are none.
    """

    def __init__(self, known: tuple[Answered, ...] = (), cargo: Cargo | None = None) -> None:
        self.known = known
        self.opaque = cargo.opaque if cargo is not None and cargo.opaque else None
        self.missing: dict[bytes, Call] = {}
        self._values = {_key(one.call.name, one.call.args): one.value for one in known}

    def __call__(self, name: str, args: tuple[Value, ...]) -> Value:
        key = _key(name, args)
        if key not in self._values:
            self.missing[key] = Call(name, args)
            return None
        return self._values[key]  # type: ignore[no-any-return]


def _key(name: str, args: tuple[Any, ...]) -> bytes:
    """Bytes, because 1, 1.0 and TRUE are three arguments, though Python calls them equal."""
    return encode_value((name, args))
