"""What an event's behaviours answered at its entry, as a function that filters may call.

A step never waits: the first matching asks, and notes what it asked; the driver runs the programs and gives the
answers; the next matching finds them. They travel with the event, so that its homes, and whoever audits it later,
judge by the same answers without running anything.
"""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.event import Value
from agvent.wire.codec import extended
from agvent.wire.messages import Answered, Call

_encoder = msgspec.msgpack.Encoder(enc_hook=extended)


class Answers:
    """Answers to calls; a call without one is unknown, and is noted in `missing`."""

    def __init__(self, known: tuple[Answered, ...] = ()) -> None:
        self.known = known
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
    return _encoder.encode((name, args))
