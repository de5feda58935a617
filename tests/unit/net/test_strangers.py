"""How many connections a broker has room for."""

from __future__ import annotations

import resource

import pytest

from agvent import limits
from agvent.net.strangers import Places, places


@pytest.mark.parametrize(
    ("descriptors", "room"),
    [
        (1 << 20, Places(limits.STRANGERS_MAX, limits.CONNECTIONS_MAX - limits.STRANGERS_MAX)),
        (limits.DESCRIPTORS_RESERVED + 400, Places(100, 300)),
        (100, Places(4, 12)),
        (resource.RLIM_INFINITY, Places(limits.STRANGERS_MAX, limits.CONNECTIONS_MAX - limits.STRANGERS_MAX)),
    ],
)
def test_some_descriptors_are_the_brokers_own(descriptors: int, room: Places) -> None:
    """The journal and dialled links have descriptors whatever connects; a quarter of the rest is strangers'."""
    assert places(descriptors) == room
