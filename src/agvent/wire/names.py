"""What brokers call a client: its name, and after it moved from one home to another how often it did.

So a client that comes back to a broker where it was at home before is another one there, until that broker has handed
over what it had for the first. Numbers of deliveries begin higher with each move: a number is of one home only.
"""

from __future__ import annotations

from typing import Final

MARK: Final = "~"
MOVE_SHIFT: Final = 40

MOVES_MAX: Final = 1 << 19
"""Moves of a client: one a minute for a year. Shifted, they are still 64-bit integers, on the wire and in the log."""


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
    """
    >>> moves_of("ann"), moves_of("ann~2")
    (0, 2)
    """
    return int(key.partition(MARK)[2] or 0)


def is_key(key: str, name: str) -> bool:
    """Is this what brokers may call the client of this name?

    >>> [is_key(key, "ann") for key in ("ann", "ann~2", "ann~02", "ann~x", "ben", "ann~9999999")]
    [True, True, False, False, False, False]
    """
    moves = key.removeprefix(f"{name}{MARK}")
    return key == name or (moves.isdecimal() and int(moves[:9]) < MOVES_MAX and key == client_key(name, int(moves)))


def first_number(key: str) -> int:
    """What the numbers of a client's deliveries come after."""
    return moves_of(key) << MOVE_SHIFT
