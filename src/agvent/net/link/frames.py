"""Frames on a stream of bytes."""

from __future__ import annotations

from agvent import limits
from agvent.errors import WireError
from agvent.wire.codec import PREFIX


class FrameSplitter:
    """Cuts a stream into frames, prefix included. It keeps less than one frame: a length is believed within its bound
    or not at all."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[memoryview]:
        """The frames that are whole now, as views of what came."""
        if self._rest:
            data = self._rest + data
        view, frames, offset = memoryview(data), [], 0
        while len(data) - offset >= PREFIX.size:
            length, _ = PREFIX.unpack_from(data, offset)
            if length > limits.FRAME_BYTES_MAX:
                raise WireError(f"a frame of {length} bytes, at most {limits.FRAME_BYTES_MAX} are read")
            end = offset + PREFIX.size + length
            if end > len(data):
                break
            frames.append(view[offset:end])
            offset = end
        self._rest = data[offset:]
        return frames
