"""The mutants: small bugs of src/agvent, each in one place, as data in the TOML files beside this file.

A mutant replaces `before`, which its file has exactly once, by `after`. `why` says what then goes wrong. One whose
change nobody can see has the argument for that in `equivalent`; it stays in the list and is not hunted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).parents[2]
SOURCE: Final = ROOT / "src" / "agvent"
DATA: Final = Path(__file__).parent


class CatalogueError(Exception):
    """A file of mutants that cannot be read, or mutants that no longer fit the source."""


class Mutant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bug. `file` is below src/agvent."""

    name: str
    file: str
    why: str
    before: str
    after: str
    equivalent: str = ""

    @property
    def room(self) -> str:
        """The folder of its file: `broker/clients`."""
        return self.file.rpartition("/")[0]

    def applied_to(self, text: str) -> str:
        """Its file's text with the bug."""
        return text.replace(self.before, self.after)


class _MutantsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    mutant: tuple[Mutant, ...]


def load(folder: Path = DATA) -> list[Mutant]:
    """The mutants of a folder's files, in the order of names of files."""
    mutants: list[Mutant] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            mutants += msgspec.toml.decode(path.read_bytes(), type=_MutantsFile).mutant
        except msgspec.DecodeError as error:
            raise CatalogueError(f"{path.name}: {error}") from None
    return mutants


def check(mutants: Iterable[Mutant], source: Path = SOURCE) -> None:
    """Raises a line for each mutant that is not one change of the source."""
    mutants = list(mutants)
    lines = [f"{name}: {count} mutants have this name" for name, count in _names(mutants).items() if count > 1]
    lines += [f"{one.name}: {complaint}" for one in mutants if (complaint := complaint_about(one, source))]
    if lines:
        raise CatalogueError("\n".join(lines))


def _names(mutants: Sequence[Mutant]) -> Counter[str]:
    return Counter(one.name for one in mutants)


def complaint_about(mutant: Mutant, source: Path) -> str:
    """Why a mutant is not one change of the source, or nothing."""
    path = source / mutant.file
    if not path.is_file():
        return f"{mutant.file} does not exist"
    text = path.read_text()
    count = text.count(mutant.before) if mutant.before else 0
    if count != 1:
        return f"{mutant.file} has its `before` {count} times, not once"
    if mutant.before == mutant.after:
        return "its `before` and its `after` are the same"
    try:
        compile(mutant.applied_to(text), mutant.file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{mutant.file} does not compile with it: {error.msg}"
    return ""


def spread(mutants: Sequence[Mutant], count: int) -> list[Mutant]:
    """So many of the mutants, at even distances."""
    count = min(count, len(mutants))
    return [mutants[place * len(mutants) // count] for place in range(count)]
