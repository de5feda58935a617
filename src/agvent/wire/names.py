"""What brokers call a client: its name, and after it moved from one home to another how often it did.

So a client that comes back to a broker where it was at home before is another one there, until that broker has handed
over what it had for the first. Numbers of deliveries begin higher with each move: a number is of one home only.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "~"
MOVE_SHIFT: Final = 40


def client_key(name: str, moves: int) -> str:
    """
    >>> client_key("ann", 0), client_key("ann", 2)
    ('ann', 'ann~2')
    """
    return f"{name}{MARK}{moves}" if moves else name


def name_of(key: str) -> str:
    """
    >>> name_of("ann"), name_of("ann~2")
    ('ann', 'ann')
    """
    return key.partition(MARK)[0]


def moves_of(key: str) -> int:
    return int(key.partition(MARK)[2] or 0)


def first_number(key: str) -> int:
    """What the numbers of a client's deliveries come after."""
    return moves_of(key) << MOVE_SHIFT
