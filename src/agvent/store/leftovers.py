"""Files that no head names: what a crash left behind, and what to do with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from agvent.store.heads import HEADS, Head
from agvent.store.log_schema import TABLES
from agvent.store.segments import HIDDEN

FOLDERS: Final = {**{name: form.stream for name, form in TABLES.items()}, "snapshots": "snapshots"}
"""Which stream's segments a folder has."""


def unnamed(log: Path, heads: Mapping[str, Head]) -> Iterator[Path]:
    """The files in the folders of these heads' streams that none of them names, hidden ones included."""
    named = {log / segment.path for head in heads.values() for segment in head.segments}
    for folder, stream in FOLDERS.items():
        if stream in heads:
            for file in sorted((log / folder).rglob("*")):
                if file.is_file() and file not in named:
                    yield file
    for stream in heads:
        yield from (log / HEADS).glob(f".{stream}.json{HIDDEN}")


def sweep(log: Path, heads: Mapping[str, Head]) -> None:
    """Removes what a crash left behind. Only who writes the log may do this."""
    for file in unnamed(log, heads):
        file.unlink()
