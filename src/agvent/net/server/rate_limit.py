"""What one principal may say in a second: messages and bytes, over all its connections.

A bucket of each is filled at a steady rate, and holds two seconds' worth. Who takes more than is there is not read for
as long as it takes to fill again: it waits, and nobody else does.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final

import msgspec

from agvent import limits

BURST_SECONDS: Final = 2
WAIT_SECONDS_MAX: Final = 1.0
"""How long a connection is not read at a time: below the silence after which a link counts as down."""


class Bucket(msgspec.Struct):
    """`left` may be less than nothing: what came could not be unread."""

    rate: int  # a second
    left: float
    at: int = 0  # microseconds

    def take(self, amount: int, now: int) -> float:
        """Takes an amount, and gives the seconds until the bucket is not overdrawn."""
        filled = self.left + self.rate * (now - self.at) / 1e6
        self.left = min(filled, self.rate * BURST_SECONDS) - amount
        self.at = now
        return max(0.0, -self.left / self.rate)


class RateLimit:
    """One principal's two buckets, full at first."""

    def __init__(self, now: int) -> None:
        rates = (limits.PRINCIPAL_MESSAGES_PER_SECOND_MAX, limits.PRINCIPAL_BYTES_PER_SECOND_MAX)
        self._messages, self._bytes = (Bucket(rate, rate * BURST_SECONDS, now) for rate in rates)

    def take(self, messages: int, size: int, now: int) -> float:
        """The seconds for which whoever said that is not listened to."""
        return min(WAIT_SECONDS_MAX, max(self._messages.take(messages, now), self._bytes.take(size, now)))


class RateLimits:
    """Those of all principals that are connected, by name."""

    def __init__(self) -> None:
        self._of: dict[str, RateLimit] = {}

    def take(self, principal: str, messages: int, size: int, now: int) -> float:
        allowance = self._of.get(principal)
        if allowance is None:
            allowance = self._of[principal] = RateLimit(now)
        return allowance.take(messages, size, now)

    def keep(self, principals: Container[str]) -> None:
        """Forgets everybody else."""
        self._of = {name: one for name, one in self._of.items() if name in principals}
