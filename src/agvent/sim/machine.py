"""How fast the machines of a simulated world are, and how fast its clients."""

from __future__ import annotations

from random import Random

import msgspec


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """How fast the machines of a world are."""

    turn_us: int = 0
    """Inputs gather for so long and are one step, as on a busy event loop; 0: each frame is a step of its own."""

    run_us: tuple[int, ...] = (3_000,)
    """How long programs take: one of these."""

    save_us: int = 20_000
    """How long it takes to write a snapshot."""

    sync_us: tuple[int, ...] = (1_000,)
    """How long a disk takes for a sync: each broker's has one of these."""

    delay_us: tuple[int, ...] = (2_000,)
    """How long a frame takes: each link has one of these."""

    done_us: int = 0
    """How long a client takes until it is done with a delivery; 0: it is done when it is given."""

    notice_us: int = 0
    """How long a broker takes at most until it notices that a client's connection is gone: another may be there by
    then. 0: it sees it at once."""


def any_of(random: Random, choices: tuple[int, ...]) -> int:
    """One of them; where there is only one, nothing is drawn."""
    return choices[0] if len(choices) == 1 else random.choice(choices)
