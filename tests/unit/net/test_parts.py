"""The parts of the shell that need no network: addresses, frames, introductions, configuration."""

from __future__ import annotations

from pathlib import Path

import pytest

from agvent.errors import CallerError, EnvironmentFault, WireError
from agvent.net.address import Address, address_of, addresses_of, is_loopback
from agvent.net.clock import Clock
from agvent.net.config import Config, Identity, identity, read_config
from agvent.net.frames import FrameSplitter
from agvent.net.introduction import Introduction, introduction_of
from agvent.wire.codec import framed


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
    with pytest.raises(CallerError, match="is no address"):
        address_of(text)


def test_addresses_come_in_lists() -> None:
    """Several with commas, the scheme or the port left out."""
    assert addresses_of("agvent://a:1, b") == [Address("a", 1), Address("b", 4780)]


def test_loopback_is_this_machine_alone() -> None:
    """A name is not loopback, whatever it may resolve to."""
    hosts = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "0.0.0.0", "10.0.0.1", "::", "broker.example")
    assert [is_loopback(host) for host in hosts] == [True] * 4 + [False] * 4


def test_frames_come_whole_however_the_stream_is_cut() -> None:
    """Cut anywhere, a stream gives the same frames."""
    sent = [framed(b"x" * size) for size in (0, 1, 500, 70_000)]
    stream = b"".join(sent)
    for step in (1, 7, 8, 9, 4_096, len(stream)):
        splitter = FrameSplitter()
        found = [frame for at in range(0, len(stream), step) for frame in splitter.feed(stream[at : at + step])]
        assert found == sent


def test_a_length_beyond_the_bound_is_not_waited_for() -> None:
    """Eight bytes are enough to refuse it."""
    with pytest.raises(WireError, match="4294967295 bytes"):
        FrameSplitter().feed(b"\xff" * 8)


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


def test_the_clock_does_not_go_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wall time that jumps after the start is not looked at."""
    clock = Clock()
    before = clock.now()
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert clock.now() >= before > 1_700_000_000_000_000


def test_a_file_is_a_configuration(tmp_path: Path) -> None:
    """Paths are relative to the file, addresses may leave the port out."""
    path = tmp_path / "broker.toml"
    path.write_text('name = "B1"\ndata = "disk"\n[neighbours]\nB2 = "10.0.0.2"\n')
    assert read_config(path) == Config(
        name="B1",
        listen=Address("127.0.0.1", 4780),
        data=tmp_path / "disk",
        neighbours={"B2": Address("10.0.0.2", 4780)},
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('name = "B1"\nlisten = "0.0.0.0:1"', "can be reached from other machines"),
        ('name = "B1"\nport = 1', "unknown field `port`"),
        ('name = "a/b"', "'a/b' cannot be a name"),
        ('name = "B1"\n[neighbours]\nB1 = "h"', "is its own neighbour"),
        ("name = ", "Invalid value"),
        ("", "missing required field `name`"),
    ],
)
def test_a_wrong_file_is_the_callers_mistake(tmp_path: Path, text: str, complaint: str) -> None:
    """The complaint names what is wrong."""
    path = tmp_path / "broker.toml"
    path.write_text(text)
    with pytest.raises(CallerError, match=complaint):
        read_config(path)


def test_insecure_is_a_word_that_must_be_said(tmp_path: Path) -> None:
    """With it, any address goes."""
    path = tmp_path / "broker.toml"
    path.write_text('name = "B1"\nlisten = "0.0.0.0:1"')
    assert read_config(path, insecure=True).listen == Address("0.0.0.0", 1)


def test_a_new_journal_is_a_new_incarnation(tmp_path: Path) -> None:
    """It is later than any before it; a disk is one broker's; a journal without an identity is nobody's."""
    first = identity(tmp_path, "B1", is_new=True)
    assert identity(tmp_path, "B1", is_new=False) == first
    assert identity(tmp_path, "B1", is_new=True).incarnation > first.incarnation
    with pytest.raises(CallerError, match="is the disk of broker 'B1', not of 'B2'"):
        identity(tmp_path, "B2", is_new=False)
    (tmp_path / "identity.json").unlink()
    with pytest.raises(EnvironmentFault, match=r"identity.json is missing"):
        identity(tmp_path, "B1", is_new=False)
    assert isinstance(identity(tmp_path, "B1", is_new=True), Identity)
