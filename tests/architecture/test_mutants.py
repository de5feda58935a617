"""The mutants of tests/mutants fit the source, and every file that keeps the broker's promises has some."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.mutants.catalogue import SOURCE, check, load

MUTANTS_MIN = 120

COVERED = ("broker/**/*.py", "session/**/*.py", "wire/link.py", "store/journal*.py", "chronicle/**/*.py")
"""What the simulator vouches for. Each file has a mutant, except `__init__.py`, which holds names."""

DECLARATIONS = {
    "broker/interface.py": "the structs of inputs and effects",
    "broker/notices.py": "the structs of notices",
    "broker/pending.py": "the structs of work that waits",
    "broker/records.py": "the structs of records; a record is encoded by its struct alone",
}
"""Files without behaviour to break."""


def uncovered(files: Iterable[str]) -> list[str]:
    """The files of COVERED that are not among these."""
    paths = {path for pattern in COVERED for path in SOURCE.glob(pattern) if path.name != "__init__.py"}
    return sorted({path.relative_to(SOURCE).as_posix() for path in paths} - {*files} - {*DECLARATIONS})


def test_every_mutant_is_one_change_of_the_source() -> None:
    """Its file has what it replaces exactly once, and compiles with it. Who changes the source changes its mutants."""
    check(load())


def test_every_file_of_the_broker_has_a_mutant() -> None:
    """There are enough mutants, and none of these files is without."""
    mutants = load()
    assert len(mutants) >= MUTANTS_MIN
    assert uncovered(one.file for one in mutants) == []


@pytest.mark.parametrize("file", DECLARATIONS)
def test_a_file_of_declarations_has_no_mutant(file: str) -> None:
    """One that has a mutant has behaviour, and leaves the list of exceptions."""
    assert (SOURCE / file).is_file()
    assert [one.name for one in load() if one.file == file] == []


def test_a_file_without_a_mutant_is_seen() -> None:
    """The check finds a file below each of the patterns."""
    missing = {
        "broker/clients/moves.py",
        "session/inbox.py",
        "wire/link.py",
        "store/journal_tail.py",
        "chronicle/hops.py",
    }
    assert uncovered({one.file for one in load()} - missing) == sorted(missing)
