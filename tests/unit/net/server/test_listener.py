"""How many connections a broker has room for."""

from __future__ import annotations

import resource

import pytest

from agvent import limits
from agvent.net.server.listener import ConnectionLimits, connection_limits


@pytest.mark.parametrize(
    ("descriptors", "room"),
    [
        (1 << 20, ConnectionLimits(limits.STRANGERS_MAX, limits.CONNECTIONS_MAX - limits.STRANGERS_MAX)),
        (limits.DESCRIPTORS_RESERVED + 400, ConnectionLimits(100, 300)),
        (100, ConnectionLimits(4, 12)),
        (resource.RLIM_INFINITY, ConnectionLimits(limits.STRANGERS_MAX, limits.CONNECTIONS_MAX - limits.STRANGERS_MAX)),
    ],
)
def test_some_descriptors_are_the_brokers_own(descriptors: int, room: ConnectionLimits) -> None:
    """The journal and dialled links have descriptors whatever connects; a quarter of the rest is strangers'."""
    assert connection_limits(descriptors) == room
