"""Files that no head names: what a crash left behind, and what to do with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agvent.store.heads import HEADS, Head
from agvent.store.segments import HIDDEN
from agvent.store.tables import TABLES

FOLDERS: Final = (*TABLES, "snapshots")


def unnamed(log: Path, heads: Mapping[str, Head]) -> Iterator[Path]:
    """The files in the folders of tables that no head names, hidden ones included."""
    named = {log / segment.path for head in heads.values() for segment in head.segments}
    for folder in FOLDERS:
        for file in sorted((log / folder).rglob("*")):
            if file.is_file() and file not in named:
                yield file
    yield from (log / HEADS).glob(f".*{HIDDEN}")


def sweep(log: Path, heads: Mapping[str, Head]) -> None:
    """Removes what a crash left behind. Only who writes the log may do this."""
    for file in unnamed(log, heads):
        file.unlink()
