"""What the agvents of simulated worlds have in common, so that every filter of a workload can be put to all of them."""

from __future__ import annotations


class Priced:
    """What all of them have."""

    price: int

    def is_dear(self, limit: int) -> bool:
        """Is the price above a limit?"""
        return self.price > limit

    def twice(self, number: int) -> int:
        """Two times a number."""
        return 2 * number

    def fails(self) -> bool:
        """Never answers."""
        raise ValueError("this behaviour always fails")
