"""A client's own agvents: classes as advertisements with signed code, instances as events with hidden fields."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.agvent_types import type_of
from agvent.agents.authoring.flatten import program_of
from agvent.agents.authoring.publishing import published
from agvent.agents.execution.signed_programs import encode_code, sign
from agvent.agents.secrecy.hidden_fields import Hider
from agvent.event import Budget, Event
from agvent.net.client.keyring import Keyring
from agvent.net.client.seals import Seals
from agvent.types import AgventType


class Agvents:
    """What a publisher needs to send agvents. `host_key` asks its broker whom to hide fields for."""

    def __init__(
        self, publisher: str, keyring: Keyring, seals: Seals, host_key: Callable[[], Awaitable[bytes]]
    ) -> None:
        self.publisher = publisher
        self._keyring, self._seals, self._host_key = keyring, seals, host_key
        self._hiders: dict[str, Hider] = {}  # by the broker that named the key

    def advertised(self, cls: type[Agvent]) -> tuple[AgventType, bytes]:
        """The type of a class, and its code signed."""
        return type_of(cls), encode_code(sign(program_of(cls), self.publisher, self._keyring.signing))

    async def event_of(self, agvent: Agvent, broker: str, *, budget: Budget | None = None) -> Event:
        """The event of an agvent that is published at this broker."""
        if broker not in self._hiders:
            self._hiders[broker] = Hider(await self._host_key(), os.urandom)
        sealer = self._seals.sealer(type(agvent).__name__)
        return published(agvent, self.publisher, hider=self._hiders[broker], sealer=sealer, budget=budget)
