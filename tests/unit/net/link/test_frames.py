"""A stream of bytes, split into frames."""

from __future__ import annotations

import pytest

from agvent.errors import WireError
from agvent.net.link.frames import FrameSplitter
from agvent.wire.codec import framed


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
