"""A process that forks for each hunt, because most of a short hunt is importing Numba, the matcher and the filters.

    python -m tests.mutants.forks       takes lines "FIRST COUNT" and answers each with a Hunt in a line of JSON

These are imported once. A fork imports the rest of the package below the current folder, the mutant's file too. If a
file that was imported before is not what it was, the answer is an empty line: such a mutant needs a process of its own.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from pathlib import Path
from typing import Final

import msgspec

import agvent.matching.subscriptions  # noqa: F401 - what is imported once
from tests.mutants.results import Hunt
from tests.mutants.seeds import hang, search

Stamps = dict[str, tuple[int, int]]

LOOPS: Final = Hunt(seeds=0, cpu_s=0, checker="hang", violation="hang: a loop that no signal of Python ends")


def stamps() -> Stamps:
    """When each file of the package that is imported was written, and how large it is."""
    files = [one.__file__ for name, one in sys.modules.items() if name.partition(".")[0] == "agvent" and one.__file__]
    found = {file: Path(file).stat() for file in files}
    return {file: (status.st_mtime_ns, status.st_size) for file, status in found.items()}


def answer(line: str, before: Stamps) -> str:
    """What a fork finds in the seeds of a line."""
    if stamps() != before:
        return ""
    first, count = map(int, line.split())
    signal.signal(signal.SIGPROF, hang)
    try:
        found = search(range(first, first + count))
    except Exception as error:  # noqa: BLE001 - a mutant that cannot be imported
        found = Hunt(seeds=0, cpu_s=0, checker="crash", violation=f"crash: {type(error).__name__}: {error}")
    return msgspec.json.encode(found).decode()


def ended(code: int) -> Hunt:
    """The find of a fork that ended without an answer."""
    if code == -signal.SIGXCPU:
        return LOOPS
    return Hunt(seeds=0, cpu_s=0, checker="crash", violation=f"crash: exit code {code}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    before = stamps()
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            code = 1
            try:
                say(answer(line, before))
                code = 0
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if code := os.waitstatus_to_exitcode(status):
            say(msgspec.json.encode(ended(code)).decode())


if __name__ == "__main__":
    main()
