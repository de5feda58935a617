"""What the connections of each principal keep in memory, and which of them goes when that is too much.

Kept are answers that wait for whoever does not read, parts of messages that are not whole, and publications that came
before their turn. Cost: two lookups each time; all connections of a principal are looked at only when it has too much.
"""

from __future__ import annotations

from collections.abc import Callable

from agvent import limits
from agvent.net.link.connection import Connection


class MemoryBudget:
    """One principal's connections with what each kept when it was last looked at, and the sum."""

    def __init__(self) -> None:
        self.kept: dict[Connection, int] = {}
        self.sum = 0

    def note(self, connection: Connection, kept: int) -> int:
        """Notes what a connection keeps, and gives the change."""
        change = kept - self.kept.get(connection, 0)
        self.kept[connection] = kept
        self.sum += change
        return change

    def forget(self, connection: Connection) -> int:
        """Gives what goes with a connection."""
        gone = self.kept.pop(connection, 0)
        self.sum -= gone
        return gone


class MemoryBudgets:
    """Those of all principals that are connected, by name. `size` says what a connection keeps now."""

    def __init__(self, size: Callable[[Connection], int]) -> None:
        self._size = size
        self._of: dict[str, MemoryBudget] = {}
        self._whose: dict[Connection, str] = {}
        self._sum = 0

    def weigh(self, principal: str, connection: Connection) -> None:
        """Looks at a connection again, and aborts the largest one if its principal is over its budget."""
        if not connection.is_closing:
            largest = self.note(principal, connection)
            if largest is not None:
                largest.abort("memory quota exceeded: its principal keeps too much in the broker's memory")

    def note(self, principal: str, connection: Connection) -> Connection | None:
        """Looks at a connection again. Gives the one that is to be cut off, and forgets it: of whoever keeps too much,
        the one that keeps most."""
        budget = self._of.get(principal)
        if budget is None:
            budget = self._of[principal] = MemoryBudget()
        self._whose[connection] = principal
        self._sum += budget.note(connection, self._size(connection))
        most = limits.PRINCIPAL_KEPT_BYTES_MAX
        if budget.sum > most and self._seen_again(principal) > most:
            return self._greatest(principal)
        if self._sum > limits.KEPT_BYTES_MAX:
            greediest = max(self._of, key=self._seen_again)
            return self._greatest(greediest) if self._sum > limits.KEPT_BYTES_MAX else None
        return None

    def _seen_again(self, principal: str) -> int:
        """What a principal keeps now: some of it may have gone since it was noted."""
        budget = self._of[principal]
        self._sum += sum(budget.note(connection, self._size(connection)) for connection in list(budget.kept))
        return budget.sum

    def _greatest(self, principal: str) -> Connection:
        kept = self._of[principal].kept
        found = max(kept, key=lambda connection: kept[connection])
        self.forget(found)
        return found

    def forget(self, connection: Connection) -> None:
        """A connection is over, and what it kept is gone."""
        principal = self._whose.pop(connection, None)
        if principal is not None:
            self._sum -= self._of[principal].forget(connection)
            if not self._of[principal].kept:
                del self._of[principal]
