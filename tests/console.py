"""Runs the console blocks of a page: one folder, one shell command after the other, with the output that it shows.

`$ cat FILE` shows a file, which is written as shown. A command that runs until it is stopped (`agvent up`, `agvent
broker --config` …) goes on in the background until the page ends, as in a terminal of its own. Commands of other
programs than those in RUN are for the reader's machine, and are not run. `...` in an output stands for anything.

A command that looks (LOOKS) is run again until it shows that, for a while, as a person would look again.

What would make two tests meet on one machine is replaced: the ports of `agvent up` by free ones, the host names of
examples by addresses of loopback.
"""

from __future__ import annotations

import doctest
import os
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Self

from tests.pages import blocks

RUN = {"agvent", "cp", "curl", "head", "ls", "mkdir", "mv", "python", "rm", "tail", "tar"}
UNTIL_STOPPED = re.compile(r"agvent (up|librarian|log follow|broker --config)\b")
LOOKS = re.compile(r"agvent (status|trace|types|discover|log show)\b|curl\b")
LOOK_SECONDS_MAX = 20.0
HOSTS = {"a.example": "127.0.0.2", "b.example": "127.0.0.3", "c.example": "127.0.0.4"}
FIRST_PORT = 4780
SECONDS_MAX = 120


class Console:
    """The terminals of one page, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._instead: dict[str, str] = dict(HOSTS)
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.__exit__(None, None, None)

    def run(self, command: str, shown: str) -> str | None:
        """Runs one command line; gives its output if that is not what is shown."""
        words = shlex.split(command)
        if words[0] == "cat":
            file = self._folder / words[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self._replaced(shown))
        elif UNTIL_STOPPED.match(command):
            self._start(command)
        elif words[0] in RUN:
            return self._difference(command, self._replaced(shown))
        return None

    def _difference(self, command: str, shown: str) -> str | None:
        late = monotonic() + (LOOK_SECONDS_MAX if LOOKS.match(command) else 0)
        while True:
            printed = self._output(command)
            if doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS):
                return None
            if monotonic() >= late:
                return printed

    def _replaced(self, text: str) -> str:
        """All at once: a free port may hold the digits of one that a page shows."""
        shown = sorted(self._instead, key=len, reverse=True)
        return re.sub("|".join(map(re.escape, shown)), lambda found: self._instead[found[0]], text) if shown else text

    def _output(self, command: str) -> str:
        return subprocess.run(
            ["bash", "-c", self._replaced(command)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        ).stdout

    def _start(self, command: str) -> None:
        """Starts what runs until it is stopped, and waits for its first line."""
        if command.startswith("agvent up"):
            command += " --first-port 0"
        words = shlex.split(self._replaced(command).partition("  #")[0])
        with (self._folder / "errors.txt").open("a") as errors:
            process = subprocess.Popen(
                words, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._stack.callback(_stop, process)
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], SECONDS_MAX)[0], f"{command}: no line in {SECONDS_MAX} s"
        first = process.stdout.readline()
        assert first, f"{command}: {(self._folder / 'errors.txt').read_text()}"
        if command.startswith("agvent up"):
            for at, address in enumerate(re.findall(r"127\.0\.0\.1:\d+", first)):
                self._instead[f"127.0.0.1:{FIRST_PORT + at}"] = address
            metrics = re.findall(r"127\.0\.0\.1:\d+", process.stdout.readline())
            for at, address in enumerate(metrics):
                self._instead[f"127.0.0.1:{FIRST_PORT + len(metrics) + at}"] = address


def _stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=SECONDS_MAX)


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The `$` lines of a console block, each with the output below it; a line that ends with `\\` goes on."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = re.sub(r" *\\\n *", " ", part).partition("\n")
        yield command, output


def run_console(page: str, folder: Path) -> list[tuple[str, str, str]]:
    """Runs a page's console blocks. Gives each command whose output is not as shown, with both."""
    differences = []
    with Console(folder) as console:
        for _, block in blocks(page, "console"):
            for command, shown in commands(block):
                printed = console.run(command, shown)
                if printed is not None:
                    differences.append((command, shown, printed))
    return differences
