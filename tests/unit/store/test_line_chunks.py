"""Whole lines in chunks, from real files and pipes."""

from __future__ import annotations

import os
import threading
from io import FileIO
from pathlib import Path

import pytest

from agvent import limits
from agvent.store.line_chunks import CHUNK_BYTES, line_chunks, open_input, pieces


def chunks_of_file(path: Path, content: bytes) -> list[bytes]:
    path.write_bytes(content)
    with open_input(str(path)) as stream:
        return list(line_chunks(stream))


@pytest.mark.parametrize("content", [b"", b"a", b"a\n", b"a\nb", b"\n", b"\n\na"])
def test_small_files_are_one_chunk(tmp_path: Path, content: bytes) -> None:
    """Lines and what follows the last line end come as they are; an empty file has no chunk."""
    assert b"".join(chunks_of_file(tmp_path / "f", content)) == content


def test_chunks_end_after_a_line(tmp_path: Path) -> None:
    """Every chunk but the last ends with a line end, and together they are the file."""
    content = b"".join(b"%d %s\n" % (n, b"x" * (n % 700)) for n in range(30_000)) + b"last"
    chunks = chunks_of_file(tmp_path / "f", content)
    assert len(chunks) > 2
    assert b"".join(chunks) == content
    assert all(chunk.endswith(b"\n") for chunk in chunks[:-1])
    assert max(map(len, chunks)) < CHUNK_BYTES + 700 + 10


def test_a_line_longer_than_a_chunk_is_whole(tmp_path: Path) -> None:
    """A line of several reads comes in one piece."""
    content = b"a\n" + b"x" * (2 * CHUNK_BYTES) + b"\nb\n"
    assert b"".join(chunks_of_file(tmp_path / "f", content)) == content


@pytest.mark.parametrize("ending", [b"\nb\n", b""])
def test_a_line_longer_than_any_event_is_cut_but_still_too_long(tmp_path: Path, ending: bytes) -> None:
    """Memory has a bound: the line loses its middle, keeps its place, and is still longer than an event may be."""
    content = b"a\n" + b"x" * (limits.EVENT_BYTES_MAX + 3 * CHUNK_BYTES) + ending
    first, long, *rest = b"".join(chunks_of_file(tmp_path / "f", content)).split(b"\n")
    assert first == b"a"
    assert limits.EVENT_BYTES_MAX < len(long) <= limits.EVENT_BYTES_MAX + 2 * CHUNK_BYTES
    assert rest == ending.split(b"\n")[1:]


def test_a_pipe_is_not_waited_for_longer_than_needed() -> None:
    """A line is given on while its writer is still there; half a line waits for the rest."""
    outlet, inlet = os.pipe()
    with FileIO(outlet) as stream:
        chunks = line_chunks(stream)
        os.write(inlet, b"a\nb")
        assert next(chunks) == b"a\n"
        os.write(inlet, b"b\n")
        assert next(chunks) == b"bb\n"
        os.write(inlet, b"c")
        os.close(inlet)
        assert list(chunks) == [b"c"]


def test_a_pipe_that_does_not_block_is_read_to_its_end() -> None:
    """A writer's pause on a non-blocking pipe is not taken for the end."""
    outlet, inlet = os.pipe()
    os.set_blocking(outlet, False)
    content = b"x" * 999 + b"\n"

    def write() -> None:
        for _ in range(1000):
            os.write(inlet, content)
        os.close(inlet)

    writer = threading.Thread(target=write)
    writer.start()
    with FileIO(outlet) as stream:
        assert b"".join(line_chunks(stream)) == content * 1000
    writer.join()


class Contended(FileIO):
    """A non-blocking stream whose other reader was quicker, every second time."""

    empty = False

    def read(self, size: int | None = -1, /) -> bytes:
        self.empty = not self.empty
        return None if self.empty else super().read(size)  # type: ignore[return-value]


def test_a_read_that_finds_nothing_is_not_the_end(tmp_path: Path) -> None:
    """None from a non-blocking stream means later, not over."""
    (tmp_path / "f").write_bytes(b"a\nb\n")
    with Contended(tmp_path / "f") as stream:
        assert b"".join(line_chunks(stream)) == b"a\nb\n"


@pytest.mark.parametrize("line_count", [1, 2, 3, 100])
@pytest.mark.parametrize("chunk", [b"a\nbb\n\nc\n", b"a\nbb\nc", b"\n", b""])
def test_pieces_are_whole_lines_and_lose_none(chunk: bytes, line_count: int) -> None:
    """A chunk is cut after every so many lines, and its pieces together are the chunk."""
    cut = list(pieces(chunk, line_count))
    assert b"".join(cut) == chunk
    assert [len(piece.splitlines()) for piece in cut[:-1]] == [line_count] * (len(cut) - 1)
    assert all(len(piece.splitlines()) <= line_count for piece in cut)
