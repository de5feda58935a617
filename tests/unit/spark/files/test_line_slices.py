"""JSON Lines in slices: every line is in one slice, whole, under its own number."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agvent.errors import CallerError
from agvent.spark.files import line_slices
from agvent.spark.files.file_slices import listed
from agvent.spark.files.line_slices import chunks, line_parts

TEXTS = st.lists(st.sampled_from((b"", b"a", b"bb", b"a longer line")), max_size=12)


@given(TEXTS, st.booleans(), st.integers(1, 20), st.integers(1, 20))
def test_slices_hold_every_line_once(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], ended: bool, task: int, chunk: int
) -> None:
    """However small slices and chunks are, together they are the file, and each ends where a line does."""
    path = tmp_path_factory.mktemp("lines") / "events.jsonl"
    content = b"\n".join(texts) + (b"\n" if texts and ended else b"")
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_slices, "BYTES_PER_TASK", task)
        patch.setattr(line_slices, "CHUNK_BYTES", chunk)
        read = [piece for part in line_parts(str(path)) for piece in chunks(part)]
    assert b"".join(read) == content
    assert [piece for piece in read[:-1] if not piece.endswith(b"\n")] == []


def test_files_of_a_folder_are_in_the_order_of_their_names(tmp_path: Path) -> None:
    """What begins with _ or . is no data; folders below are walked."""
    for name in ("b.jsonl", "a.jsonl", "_SUCCESS", ".a.jsonl.crc", "sub/c.jsonl", "_temporary/d.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [str(Path(path).relative_to(tmp_path.resolve())) for path in listed(str(tmp_path))]
    assert names == ["a.jsonl", "b.jsonl", "sub/c.jsonl"]


def test_a_path_without_files_is_refused(tmp_path: Path) -> None:
    """A path that is not there and a folder with nothing in it are each said."""
    with pytest.raises(CallerError) as caught:
        listed(str(tmp_path / "nowhere"))
    assert caught.value.message == f"{tmp_path / 'nowhere'} does not exist"
    with pytest.raises(CallerError) as caught:
        listed(str(tmp_path))
    assert caught.value.message == f"{tmp_path} is a folder without files"
