"""The run of one command: first the source without a mutant, then each mutant, with a bar on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tests.mutants.catalogue import Mutant
from tests.mutants.hunt import hunt, run_tests
from tests.mutants.results import Hunt, Result, ResultsFile, SuiteRun
from tests.mutants.source_copy import SourceCopies, SourceCopy

Outcome = TypeVar("Outcome", Hunt, SuiteRun)


class WholeSourceError(Exception):
    """The source fails without a mutant, so no failure would say anything about one."""


class Run:
    """Hunts mutants with the same seeds, and keeps what comes out in a file of results."""

    def __init__(self, file: ResultsFile, copies: SourceCopies, *, first_seed: int, seeds_max: int) -> None:
        self.results = file.results
        self.file = file
        self.copies = copies
        self.first_seed = first_seed
        self.seeds_max = seeds_max
        self.console = Console(stderr=True)

    def hunt_all(self, mutants: Sequence[Mutant]) -> None:
        """Hunts those that have no result yet, with the simulator."""
        left = [one for one in mutants if one.name not in self.results and not one.equivalent]
        work = partial(hunt, first_seed=self.first_seed, seeds_max=self.seeds_max)
        self._each("hunted", left, work, self._hunted)

    def test_all(self, mutants: Sequence[Mutant]) -> None:
        """Runs the tests on those that the simulator did not find, unless they were run before."""
        hunted = [one for one in mutants if one.name in self.results and not one.equivalent]
        left = [one for one in hunted if self.results[one.name].is_untested]
        self._each("tested", left, run_tests, self._tested)

    def _hunted(self, mutant: Mutant, outcome: Hunt) -> None:
        first, most = self.first_seed, self.seeds_max
        self.file.add(Result(name=mutant.name, file=mutant.file, first_seed=first, seeds_max=most, hunt=outcome))

    def _tested(self, mutant: Mutant, outcome: SuiteRun) -> None:
        self.file.add(msgspec.structs.replace(self.results[mutant.name], tested=outcome))

    def _each(
        self,
        done: str,
        mutants: Sequence[Mutant],
        work: Callable[[SourceCopy], Outcome],
        keep: Callable[[Mutant, Outcome], None],
    ) -> None:
        """Does the work for the whole source and then for each mutant, and says which of them survive it."""
        if not mutants:
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        disable = not self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=disable) as bar:
            task = bar.add_task("without a mutant", total=len(mutants))
            if finding := self.copies.whole(work).finding:
                raise WholeSourceError(f"without a mutant: {finding}")
            bar.update(task, description=done)
            for mutant, outcome in self.copies.each(mutants, work):
                keep(mutant, outcome)
                if not outcome.finding:
                    self.console.print(f"survived: {mutant.name} ({mutant.file})", markup=False, highlight=False)
                bar.advance(task)
