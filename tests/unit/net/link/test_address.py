"""Addresses of brokers, read from text."""

from __future__ import annotations

import pytest

from agvent.errors import CallerError
from agvent.net.link.address import Address, address_of, addresses_of, is_loopback


@pytest.mark.parametrize(
    "text",
    [
        "",
        "host:65536",
        "host:x",
        pytest.param(f"host:{'9' * 5_000}", id="a very long port"),
        "http://host:1",
        "ho st",
        "user@host",
        ":4780",
        "a..b:1",
        f"{'a' * 64}.org",
        "ho\0st",
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    """The complaint shows the text."""
    with pytest.raises(CallerError, match="is not an address"):
        address_of(text)


def test_addresses_come_in_lists() -> None:
    """Several with commas, the scheme or the port left out."""
    assert addresses_of("agvent://a:1, b") == [Address("a", 1), Address("b", 4780)]


def test_loopback_is_this_machine_alone() -> None:
    """A name is not loopback, whatever it may resolve to."""
    hosts = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "10.0.0.1", "::", "broker.example")
    assert [is_loopback(host) for host in hosts] == [True] * 4 + [False] * 4
