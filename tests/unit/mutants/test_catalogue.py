"""Mutants as data: which of them fit a source, and how one comes into a copy and out again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.catalogue import CatalogueError, Mutant, check, complaint_about, load, spread
from tests.mutants.source_copy import SourceCopy

TEXT = "one = 1\ntwo = 2\nagain = two\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A package of one file."""
    folder = tmp_path / "source"
    (folder / "room").mkdir(parents=True)
    (folder / "room" / "counts.py").write_text(TEXT)
    return folder


def mutant(*, name: str = "m", file: str = "room/counts.py", before: str = "one = 1", after: str = "one = 2") -> Mutant:
    return Mutant(name=name, file=file, why="It miscounts.", before=before, after=after)


def test_mutants_are_read_in_the_order_of_their_files(tmp_path: Path) -> None:
    """A text between three quotes begins after its first line break."""
    head = 'file = "room/counts.py"\nwhy = "It miscounts."\n'
    change = "before = '''\none = 1'''\nafter = '''\none = 2'''\n"
    for name in ("b", "a"):
        (tmp_path / f"{name}.toml").write_text(f'[[mutant]]\nname = "{name}"\n{head}{change}')
    assert load(tmp_path) == [mutant(name="a"), mutant(name="b")]


def test_an_unknown_key_is_an_error(tmp_path: Path) -> None:
    """The message names the file and the place."""
    (tmp_path / "a.toml").write_text('[[mutant]]\nname = "a"\nequivalant = "nobody sees it"\n')
    with pytest.raises(CatalogueError, match=r"^a\.toml: .*`equivalant` - at `\$\.mutant\[0\]`$"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (mutant(), ""),
        (mutant(file="room/none.py"), "room/none.py does not exist"),
        (mutant(before="three"), "room/counts.py has its `before` 0 times, not once"),
        (mutant(before=""), "room/counts.py has its `before` 0 times, not once"),
        (mutant(before="two"), "room/counts.py has its `before` 2 times, not once"),
        (mutant(after="one = 1"), "its `before` and its `after` are the same"),
        (mutant(after="one = ("), "room/counts.py does not compile with it: '(' was never closed"),
    ],
)
def test_a_mutant_that_is_not_one_change_is_seen(source: Path, given: Mutant, complaint: str) -> None:
    """The complaint says what does not fit."""
    assert complaint_about(given, source) == complaint


def test_all_complaints_come_at_once(source: Path) -> None:
    """A line for each, and one for a name that occurs twice."""
    with pytest.raises(CatalogueError) as caught:
        check([mutant(), mutant(), mutant(name="n", before="three")], source)
    assert str(caught.value).splitlines() == [
        "m: 2 mutants have this name",
        "n: room/counts.py has its `before` 0 times, not once",
    ]


def test_a_sample_is_spread_evenly() -> None:
    """It has as many as were asked for, or all."""
    mutants = [mutant(name=str(number)) for number in range(10)]
    assert [one.name for one in spread(mutants, 4)] == ["0", "2", "5", "7"]
    assert spread(mutants, 11) == mutants


def test_a_mutant_leaves_nothing_behind(source: Path, tmp_path: Path) -> None:
    """Its file in the copy comes back with its text and its time; the source never changes."""
    copy = SourceCopy(tmp_path / "copy", source)
    path, whole = copy.folder / "agvent" / "room" / "counts.py", source / "room" / "counts.py"
    with copy.mutated(mutant()):
        assert path.read_text() == TEXT.replace("one = 1", "one = 2")
        assert whole.read_text() == TEXT
    assert path.read_text() == TEXT
    assert path.stat().st_mtime_ns == whole.stat().st_mtime_ns
