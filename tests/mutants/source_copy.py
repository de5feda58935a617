"""Copies of src/agvent that mutants are put into. The source itself is never changed."""

from __future__ import annotations

import os
import queue
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final, TypeVar

from tests.mutants.catalogue import ROOT, SOURCE, Mutant

Outcome = TypeVar("Outcome")

UNFINISHED: Final = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
"""What Python and Numba are just writing in another process."""


class SourceCopy:
    """A copy of the package below `folder`, with the times of its files: Numba's cached kernels stay valid by them."""

    def __init__(self, folder: Path, source: Path = SOURCE) -> None:
        self.folder = folder
        shutil.copytree(source, folder / "agvent", ignore=UNFINISHED)

    @property
    def environment(self) -> dict[str, str]:
        """For a process that imports `agvent` from here. Strings hash alike in all of them, so that a hunt repeats."""
        paths = map(str, (self.folder, ROOT, ROOT / "benchmarks"))
        return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0"}

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Puts a mutant in, and afterwards the file back as it was."""
        path = self.folder / "agvent" / mutant.file
        text, status = path.read_text(), path.stat()
        _replace(path, mutant.applied_to(text))
        try:
            yield
        finally:
            _replace(path, text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def _replace(path: Path, text: str) -> None:
    """Writes a file and drops its bytecode: Python tells that it is stale by seconds and size only."""
    path.write_text(text)
    Path(cache_from_source(str(path))).unlink(missing_ok=True)


class SourceCopies:
    """A copy for each job. A job takes one, works on a mutant in it, and gives it back."""

    def __init__(self, folder: Path, *, jobs: int) -> None:
        self.jobs = jobs
        self._free: queue.SimpleQueue[SourceCopy] = queue.SimpleQueue()
        for number in range(jobs):
            self._free.put(SourceCopy(folder / str(number)))

    def whole(self, work: Callable[[SourceCopy], Outcome]) -> Outcome:
        """The outcome of some work without a mutant."""
        with self._taken() as copy:
            return work(copy)

    def each(
        self, mutants: Sequence[Mutant], work: Callable[[SourceCopy], Outcome]
    ) -> Iterator[tuple[Mutant, Outcome]]:
        """The outcome of the work for each mutant, as they come."""
        pool = ThreadPoolExecutor(self.jobs)
        try:
            futures = {pool.submit(self._on, mutant, work): mutant for mutant in mutants}
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _on(self, mutant: Mutant, work: Callable[[SourceCopy], Outcome]) -> Outcome:
        with self._taken() as copy, copy.mutated(mutant):
            return work(copy)

    @contextmanager
    def _taken(self) -> Iterator[SourceCopy]:
        copy = self._free.get()
        try:
            yield copy
        finally:
            self._free.put(copy)
