"""A client's own agvents: classes as advertisements with signed code, instances as events with hidden fields."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from agvent.agents.agvent import Agvent
from agvent.agents.code import encode_code, sign
from agvent.agents.hiding import Hider
from agvent.agents.portable import program_of
from agvent.agents.publishing import published
from agvent.agents.sealing import Sealer
from agvent.agents.types import type_of
from agvent.event import Event
from agvent.types import AgventType


class Agvents:
    """What a publisher needs to send agvents. `host_key` asks its broker whom to hide fields for."""

    def __init__(self, publisher: str, host_key: Callable[[], Awaitable[bytes]]) -> None:
        self.publisher = publisher
        self._host_key = host_key
        self._key = Ed25519PrivateKey.generate()
        self._hiders: dict[str, Hider] = {}  # by the broker that named the key
        self._sealers: dict[str, Sealer] = {}

    def advertised(self, cls: type[Agvent]) -> tuple[AgventType, bytes]:
        """The type of a class, and its code signed."""
        return type_of(cls), encode_code(sign(program_of(cls), self.publisher, self._key))

    async def event_of(self, agvent: Agvent, broker: str) -> Event:
        """The event of an agvent that is published at this broker."""
        if broker not in self._hiders:
            self._hiders[broker] = Hider(await self._host_key(), os.urandom)
        sealer = self.sealer(type(agvent).__name__)
        return published(agvent, self.publisher, hider=self._hiders[broker], sealer=sealer)

    def sealer(self, type: str) -> Sealer:
        """Seals the fields of a type."""
        if type not in self._sealers:
            self._sealers[type] = Sealer(self.publisher, type, self._key, os.urandom)
        return self._sealers[type]
