"""The first frame on a connection, and the names in it."""

from __future__ import annotations

import pytest

from agvent.errors import CallerError, WireError
from agvent.net.link.introduction import Introduction, check_name, introduction_of


@pytest.mark.parametrize(
    "content",
    [b"", b"GET / HTTP/1.1\r\n", b"{}", b'{"agvent": 3, "kind": "client", "name": "a"}', b"[" * 10_000,
     b'{"agvent": 2, "kind": "king", "name": "a"}'],
)  # fmt: skip
def test_what_is_no_introduction_is_a_wire_error(content: bytes) -> None:
    """Whatever a stranger says first."""
    with pytest.raises(WireError):
        introduction_of(content)


def test_an_introduction_may_have_keys_of_a_later_time() -> None:
    """Unknown keys are ignored, so that the words can grow."""
    content = b'{"agvent": 2, "kind": "client", "name": "a", "new": [1]}'
    assert introduction_of(content) == Introduction(agvent=2, kind="client", name="a")


@pytest.mark.parametrize("name", ["", "a/b", "a~b", "X~1", " a", "a\n", "n" * 65])
def test_a_name_leaves_out_the_characters_of_keys(name: str) -> None:
    """Brokers build keys with `/` and `~`. A name is also not empty, not long, and printable."""
    with pytest.raises(CallerError, match="cannot be a name"):
        check_name(name)
