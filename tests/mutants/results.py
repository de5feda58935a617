"""What became of mutants, and the file that keeps it: one JSON line for each, so that an interruption loses nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec


class Hunt(msgspec.Struct, frozen=True, kw_only=True):
    """What the simulator saw. `seeds` were run, the last of them with the violation if there is one.

    `checker` is empty if nothing was found, and `is_cut` if the hunt ran out of time before that. A hunt with a checker
    and without seeds did not get as far as the first one.
    """

    seeds: int
    cpu_s: float
    checker: str = ""
    violation: str = ""
    is_cut: bool = False

    @property
    def finding(self) -> str:
        return self.violation


class SuiteRun(msgspec.Struct, frozen=True, kw_only=True):
    """What the tests saw: the first that failed, or nothing. `is_cut` if they ran out of time."""

    seconds: float
    failed: str = ""
    is_cut: bool = False

    @property
    def finding(self) -> str:
        return self.failed


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one mutant. It was hunted with up to `seeds_max` seeds."""

    name: str
    file: str
    first_seed: int
    seeds_max: int
    hunt: Hunt
    tested: SuiteRun | None = None

    @property
    def is_found(self) -> bool:
        """By the simulator."""
        return bool(self.hunt.checker)

    @property
    def is_untested(self) -> bool:
        """Did the simulator find nothing, and did the tests not run yet?"""
        return not self.is_found and self.tested is None


class ResultsFile:
    """The results of a run, and of the run that it continues. A later line of a mutant replaces an earlier one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.results: dict[str, Result] = {}
        if path is not None and path.exists():
            whole, _, torn = path.read_bytes().rpartition(b"\n")
            if torn:  # the line that an interruption cut
                path.write_bytes(whole + b"\n" if whole else b"")
            for line in whole.splitlines():
                result = msgspec.json.decode(line, type=Result)
                self.results[result.name] = result

    def add(self, result: Result) -> None:
        self.results[result.name] = result
        if self.path is not None:
            with self.path.open("ab") as out:
                out.write(msgspec.json.encode(result) + b"\n")
