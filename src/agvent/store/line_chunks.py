"""Whole lines from a file or pipe, in chunks large enough to match fast and small enough to keep memory flat."""

from __future__ import annotations

import select
import sys
import time
from collections.abc import Iterator
from io import FileIO

from agvent import limits
from agvent.errors import CallerError, EnvironmentFault
from agvent.event_json import BYTE_ORDER_MARK

CHUNK_BYTES = 4 << 20
"""Some 40 thousand events: the cost of a call into the matcher is spread thin, and memory stays near 100 MB."""

PATIENCE_S = 0.02
"""How long a chunk waits for more input. A slow producer's event is answered after this time."""

STANDARD_INPUT = "-"


def open_input(name: str) -> FileIO:
    """The file, unbuffered; `-` is standard input."""
    if not name:
        raise CallerError("an input has no name", hint="name a file, or - for standard input")
    if name != STANDARD_INPUT:
        return FileIO(name)
    if sys.stdin is None:  # its number may be another file's by now
        raise EnvironmentFault("standard input is closed")
    return FileIO(0, closefd=False)


def shown_name(name: str) -> str:
    """What messages call an input."""
    return "standard input" if name == STANDARD_INPUT else name


def line_chunks(stream: FileIO) -> Iterator[bytes]:
    """The input cut after line ends, without a byte order mark at its start. A last line without an end counts.

    Of a line longer than any event may be only so much is kept that it is still too long: memory has a bound, and the
    matcher refuses the line by its number.
    """
    rest = bytearray()
    mark = BYTE_ORDER_MARK
    for data in _reads(stream):
        end = data.rfind(b"\n") + 1
        if end:
            rest += data[:end]
            yield bytes(rest).removeprefix(mark)
            rest.clear()
            mark = b""
        if len(rest) <= limits.EVENT_BYTES_MAX:
            rest += data[end:]
    if rest:
        yield bytes(rest).removeprefix(mark)


def pieces(chunk: bytes, line_count: int) -> Iterator[bytes]:
    """The chunk cut after every `line_count` lines."""
    start = 0
    while start < len(chunk):
        end = start
        for _ in range(line_count):
            end = chunk.find(b"\n", end) + 1
            if not end:
                end = len(chunk)
                break
        yield chunk[start:end]
        start = end


def _reads(stream: FileIO) -> Iterator[bytes]:
    """What is there, up to a chunk's size; less when the producer pauses for longer than our patience."""
    ended = False
    while not ended:
        select.select([stream], [], [])
        deadline = time.monotonic() + PATIENCE_S
        parts: list[bytes] = []
        wanted = CHUNK_BYTES
        while wanted and not ended and select.select([stream], [], [], max(0, deadline - time.monotonic()))[0]:
            part = stream.read(wanted)
            if part is not None:  # None: another reader of a non-blocking pipe was quicker
                ended = not part
                wanted -= len(part)
                parts.append(part)
        yield b"".join(parts)
