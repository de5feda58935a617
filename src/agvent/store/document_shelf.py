"""The documents that a librarian keeps, in one file of SQLite: few writes, each on disk when it returns."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from agvent.errors import EnvironmentFault

DOCUMENT_TYPE: Final = "agvent.Document"
"""The type of the events that documents come as: attributes `document` and `realm`, and its XML."""

FORM: Final = """
CREATE TABLE IF NOT EXISTS documents (
  document TEXT PRIMARY KEY, version INTEGER NOT NULL, owner TEXT NOT NULL, stored_at TEXT NOT NULL, xml TEXT
)"""

PUT: Final = """
INSERT INTO documents VALUES (?, ?, ?, ?, ?)
ON CONFLICT (document) DO UPDATE SET version = excluded.version, stored_at = excluded.stored_at, xml = excluded.xml
WHERE excluded.version > version"""


class StoredDocument(msgspec.Struct, frozen=True):
    """A document of an owner's; its name begins with the owner's. Without XML it was withdrawn."""

    document: str
    version: int
    owner: str
    stored_at: datetime
    xml: str | None


class Shelf:
    """Of each document the highest version. Any thread may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as file:
            file.execute(FORM)

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path)) as file, file:
                yield file
        except sqlite3.Error as error:
            raise EnvironmentFault(f"{self.path}: {error}") from None

    def put(self, document: StoredDocument) -> None:
        """Keeps a document, unless a later version is there. It is on disk when this returns."""
        at = document.stored_at.astimezone(UTC).isoformat()
        with self._opened() as file:
            file.execute(PUT, (document.document, document.version, document.owner, at, document.xml))

    def standing(self) -> list[StoredDocument]:
        """What was not withdrawn, by name."""
        with self._opened() as file:
            rows = file.execute(
                "SELECT document, version, owner, stored_at, xml FROM documents WHERE xml IS NOT NULL ORDER BY document"
            ).fetchall()
        return [
            StoredDocument(name, version, owner, datetime.fromisoformat(at), xml)
            for name, version, owner, at, xml in rows
        ]
