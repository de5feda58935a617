"""A disk under the real journal code: what is on it when the power fails.

The files of a folder are what a process sees, the page cache. Beside them this keeps what is *safe*: of each file the
content at its last fsync, of the folder the names at the folder's. When the power fails, everything else is there or
not: of a file any part, as a prefix or by pages, of the names any of those that came or went. So no order of writes is
taken for granted that the code does not enforce by a sync. A process that is killed loses nothing of the cache, and
gains no sync by that.

While `under` is open, the calls of the journal code come here first (`CALLS`). Before any of them the power may fail,
so a crash in the middle of a snapshot or a new segment is made by the code that writes them. A full disk takes what it
has room for, and then says so.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any, Final

from agvent.store.journal_file import HEADER

CALLS: Final = ("fsync", "fdatasync", "unlink", "replace", "open", "pwrite", "ftruncate", "posix_fallocate")
"""What the journal does to files that is seen here. Buffered writes are seen at the fsync after them."""

REAL: Final = {name: getattr(os, name) for name in CALLS}

POINTS: Final = {"fsync": 4, "folder": 3, "unlink": 2, "replace": 1, "open": 1, "pwrite": 1, "": 1}
"""Before what the power may fail, and how often it does; any call counts for the last."""

UNWATCHED: Final = frozenset({"lock", "reserve"})
"""Files without content that counts."""

PAGES: Final = (16, 64, 512)
"""Sizes of a page: much smaller than real ones, as the files are."""

SHORT: Final = 0.02
"""How likely a write is done in part, as it may be."""


class PowerFailure(BaseException):
    """Nothing is carried out any more."""


class Platter:
    """One folder. `fails_at`: before which call the power fails, by its name and how many of that come before it."""

    def __init__(self, folder: Path, random: Random) -> None:
        self.folder, self.random = folder, random
        self.fails_at: tuple[str, int] | None = None
        self.is_full = False
        self.beside: Callable[[], None] | None = None  # what another process does while a write is cut off again
        self._room = 0  # what was given back since it is full
        self._safe: dict[int, bytearray] = {}  # inode -> content; of a file that goes, its name has it on
        self._sizes: dict[int, int] = {}  # inode -> how far a full disk has room for it
        self._names: dict[str, bytearray] = {}
        self._rewritten: set[int] = set()  # inodes that were written to below their safe length
        self._cut: Callable[[], None] | None = None

    @contextmanager
    def under(self) -> Iterator[None]:
        """The code in it works on this disk."""
        for name in CALLS:
            setattr(os, name, getattr(self, f"_{name}"))
        try:
            yield
        finally:
            for name, real in REAL.items():
                setattr(os, name, real)

    def fail_somewhere(self) -> None:
        """Soon the power fails, if what is done next goes so far."""
        [point] = self.random.choices([*POINTS], [*POINTS.values()])
        self.fails_at = (point, self.random.choice((0, 0, 0, 1, 1, 2, 3)))

    def _call(self, name: str) -> None:
        if self.fails_at is not None and self.fails_at[0] in (name, ""):
            self.fails_at = (self.fails_at[0], self.fails_at[1] - 1)
            if self.fails_at[1] < 0:
                raise PowerFailure

    # Calls

    def _fdatasync(self, file: int) -> None:
        self._fsync(file)

    def _fsync(self, file: int) -> None:
        if self._cut is not None:  # the other process takes so long that the writer goes on first
            self._cut()
            self._cut = None
        status = os.fstat(file)
        self._call("folder" if stat.S_ISDIR(status.st_mode) else "fsync")
        if stat.S_ISDIR(status.st_mode):
            if os.path.samestat(status, self.folder.stat()):
                self._names = {name: self._safe_of(inode) for name, inode in self._listed()}
            return
        safe = self._safe_of(status.st_ino)
        self._grow(status.st_ino, status.st_size, safe)
        if status.st_ino in self._rewritten or status.st_size < len(safe):
            self._rewritten.discard(status.st_ino)
            safe.clear()
        safe += os.pread(file, status.st_size - len(safe), len(safe))

    def _safe_of(self, inode: int) -> bytearray:
        return self._safe.setdefault(inode, bytearray())

    def _listed(self) -> list[tuple[str, int]]:
        found = ((entry.name, entry.inode()) for entry in os.scandir(self.folder))
        return sorted((name, inode) for name, inode in found if name not in UNWATCHED)

    def _grow(self, inode: int, size: int, safe: bytearray) -> None:
        """A full disk has room for what was there and what was given back."""
        had = max(len(safe), self._sizes.get(inode, 0))
        if self.is_full and size > had:
            if size - had > self._room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._room -= size - had
        self._sizes[inode] = max(size, had)

    def _unlink(self, path: Path, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None:  # rmtree, of the folder of a disk that the garbage collector has found just now
            REAL["unlink"](path, dir_fd=dir_fd)
            return
        self._call("unlink")
        status = os.stat(path)
        REAL["unlink"](path)
        self._gone(status)

    def _gone(self, status: os.stat_result) -> None:
        self._room += status.st_size
        self._safe.pop(status.st_ino, None)
        self._sizes.pop(status.st_ino, None)

    def _replace(self, source: Path, target: Path) -> None:
        self._call("replace")
        over = os.stat(target) if Path(target).exists() else None
        REAL["replace"](source, target)
        if over is not None:
            self._gone(over)

    def _open(self, path: Path, flags: int, *mode: int, **options: Any) -> int:
        if flags & os.O_CREAT and not Path(path).exists():
            self._call("open")
            if self.is_full and self._room <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if flags & os.O_ACCMODE == os.O_WRONLY:
            flags = flags & ~os.O_ACCMODE | os.O_RDWR  # what is synced is read here
        file: int = REAL["open"](path, flags, *mode, **options)
        if flags & os.O_TRUNC:
            self._rewritten.add(os.fstat(file).st_ino)
        return file

    def _pwrite(self, file: int, data: bytes, offset: int) -> int:
        self._call("pwrite")
        inode, size = os.fstat(file).st_ino, len(data)
        if offset < len(self._safe_of(inode)):
            self._rewritten.add(inode)
        if self.is_full:
            had = max(len(self._safe_of(inode)), self._sizes.get(inode, 0))
            if (left := had + self._room - offset) <= 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            size = min(size, left)
            self._room -= max(0, offset + size - had)
            self._sizes[inode] = max(had, offset + size)
        elif size > 1 and self.random.random() < SHORT:
            size = self.random.randrange(1, size)
        written: int = REAL["pwrite"](file, data[:size], offset)
        return written

    def _ftruncate(self, file: int, length: int) -> None:
        self._call("ftruncate")
        self._sizes.pop(os.fstat(file).st_ino, None)
        if self.beside is not None:
            self._cut = lambda: REAL["ftruncate"](file, length)
            self.beside()
            self._cut = None
        REAL["ftruncate"](file, length)

    def _posix_fallocate(self, file: int, offset: int, length: int) -> None:
        self._call("posix_fallocate")
        if self.is_full:
            if self._room < length:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._room -= length
        REAL["ftruncate"](file, offset + length)

    def fill(self) -> None:
        """From now on there is no room."""
        self.is_full, self._room = True, 0
        self._sizes = {inode: (self.folder / name).stat().st_size for name, inode in self._listed()}

    def add_room(self, size: int) -> None:
        """So much room is left."""
        self._room += size

    # The power fails

    def fail(self) -> None:
        """Leaves of the folder what is safe, and of everything else any part."""
        seen = {name: (self._safe_of(inode), (self.folder / name).read_bytes()) for name, inode in self._listed()}
        left: dict[str, bytes] = {}
        share = self.random.choice((0.1, 0.5, 0.9))  # of the names that came or went
        older = b""  # of a file whose blocks may be used again: of any that is there before, as good as any
        for name in sorted({*self._names, *seen}):
            safe, (now, content) = self._names.get(name), seen.get(name, (None, b""))
            if safe is now and safe is not None:
                left[name] = self._torn(bytes(safe), content, older)
            elif now is not None and self.random.random() < share:  # the new name is there
                left[name] = self._torn(bytes(now), content, older)
            elif safe is not None and (now is not None or self.random.random() > share):  # the old one is still
                left[name] = bytes(safe)
            older = left.get(name, older) if name.endswith(".segment") else older
        for name in {*seen} - {*left}:
            (self.folder / name).unlink()
        for name, content in left.items():
            if name not in seen or seen[name][1] != content:
                (self.folder / name).write_bytes(content)
        self.settle()

    def _torn(self, safe: bytes, content: bytes, before: bytes) -> bytes:
        """A file's content between its last sync and now; its new blocks may have been those of a file before."""
        if safe == content:
            return content
        longest = max(len(safe), len(content))
        if content.startswith(safe) and self.random.random() < 0.4:
            return content[: self.random.randint(len(safe), len(content))]
        if (
            content.startswith(safe) and before and self.random.random() < 0.1
        ):  # the blocks are there, not their content
            return safe + before[HEADER.size :][: len(content) - len(safe)]
        page, share = self.random.choice(PAGES), self.random.choice((0.0, 0.3, 0.7, 1.0))
        found = bytearray(safe.ljust(longest, b"\0"))
        for start in range(0, longest, page):
            if self.random.random() < share:
                found[start : start + page] = content[start : start + page].ljust(page, b"\0")
        return bytes(found[: self.random.choice((len(safe), len(content), len(content)))])

    def settle(self) -> None:
        """Everything that is there is safe: as after a start of the machine, or with time."""
        self._safe = {inode: bytearray((self.folder / name).read_bytes()) for name, inode in self._listed()}
        self._names = {name: self._safe[inode] for name, inode in self._listed()}
        self._rewritten.clear()
        self._sizes.clear()
