"""The hunt sees a bug that is there, and none where there is none; results outlive an interruption."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.mutants.catalogue import ROOT, Mutant, load
from tests.mutants.hunt import first_failed, hunt, prepare_kernels
from tests.mutants.report import report
from tests.mutants.results import Hunt, Result, ResultsFile, SuiteRun
from tests.mutants.run import Run, WholeSourceError
from tests.mutants.source_copy import SourceCopies, SourceCopy

SEEDS = 5

BEGIN = "def run(scenario: Scenario, *, trace: Trace | None = None, make: type[Broker] = Broker) -> Verdict:\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> SourceCopy:
    """A copy of the package."""
    prepare_kernels()
    return SourceCopy(tmp_path_factory.mktemp("mutants") / "copy")


def begins_with(line: str) -> Mutant:
    """A mutant whose runs begin with a line."""
    return Mutant(name="m", file="sim/run.py", why="It never runs.", before=BEGIN, after=f"{BEGIN}    {line}\n")


def test_a_bug_is_found_and_the_whole_source_has_none(copy: SourceCopy) -> None:
    """The same seeds find a mutant that loses events, and nothing before and after it."""
    (mutant,) = (one for one in load() if one.name == "part-of-a-batch-forgets-its-places")
    whole = hunt(copy, first_seed=0, seeds_max=SEEDS)
    with copy.mutated(mutant):
        found = hunt(copy, first_seed=0, seeds_max=SEEDS)
    again = hunt(copy, first_seed=0, seeds_max=SEEDS)
    assert (
        (whole.seeds, whole.finding, whole.is_cut) == (again.seeds, again.finding, again.is_cut) == (SEEDS, "", False)
    )
    assert found.checker == "promised"
    assert found.violation.startswith("promised: ")
    assert 0 < found.seeds <= SEEDS


def test_a_mutant_of_what_is_imported_once_is_found(copy: SourceCopy) -> None:
    """Also after a hunt without it, and it does not stay for the next one."""
    before = "class AgventError(Exception):\n"
    after = f"raise ValueError('no errors')\n\n\n{before}"
    mutant = Mutant(name="m", file="errors.py", why="", before=before, after=after)
    assert hunt(copy, first_seed=0, seeds_max=1).finding == ""
    with copy.mutated(mutant):
        found = hunt(copy, first_seed=0, seeds_max=1)
    assert (found.checker, found.violation) == ("crash", "crash: ValueError: no errors")
    assert hunt(copy, first_seed=0, seeds_max=1).finding == ""


def test_a_process_imports_the_copy(copy: SourceCopy) -> None:
    """Wherever it runs: the tests run in the tree that has the source."""
    command = [sys.executable, "-c", "import agvent; print(agvent.__file__)"]
    ran = subprocess.run(command, cwd=ROOT, env=copy.environment, capture_output=True, text=True, check=True)
    assert ran.stdout == f"{copy.folder / 'agvent' / '__init__.py'}\n"


def test_what_a_mutant_raises_is_a_find(copy: SourceCopy) -> None:
    """Its type, its words and its place are the violation."""
    with copy.mutated(begins_with("raise ValueError('no world')")):
        found = hunt(copy, first_seed=3, seeds_max=SEEDS)
    assert (found.seeds, found.checker) == (1, "crash")
    assert found.violation.startswith("crash: ValueError: no world (run.py:")


def test_a_mutant_that_cannot_be_imported_is_a_find(copy: SourceCopy) -> None:
    """No seed was run."""
    with copy.mutated(Mutant(name="m", file="sim/run.py", why="", before=BEGIN, after=f"nothing\n\n\n{BEGIN}")):
        found = hunt(copy, first_seed=0, seeds_max=SEEDS)
    violation = "crash: NameError: name 'nothing' is not defined"
    assert found == Hunt(seeds=0, cpu_s=0, checker="crash", violation=violation)


def test_a_seed_that_hangs_is_a_find(copy: SourceCopy) -> None:
    """It is ended when its time is over, which is a second here."""
    program = "from tests.mutants import seeds; seeds.SEED_CPU_S = 1; seeds.main()"
    command = [sys.executable, "-c", program, "7", "2"]
    with copy.mutated(begins_with("while True: pass")):
        ran = subprocess.run(command, cwd=copy.folder, env=copy.environment, capture_output=True, check=True)
    found = msgspec.json.decode(ran.stdout, type=Hunt)
    assert (found.seeds, found.checker, found.violation) == (1, "hang", "hang: seed 7 took more than 1 s")


def test_a_source_that_fails_by_itself_is_not_hunted_in(tmp_path: Path) -> None:
    """No find would say anything about a mutant."""
    copies = SourceCopies(tmp_path, jobs=1)
    broken = begins_with("raise ValueError('no world')")
    path = tmp_path / "0" / "agvent" / broken.file
    path.write_text(broken.applied_to(path.read_text()))
    run = Run(ResultsFile(None), copies, first_seed=0, seeds_max=1)
    with pytest.raises(WholeSourceError, match=r"^without a mutant: crash: ValueError: no world"):
        run.hunt_all(load()[:1])
    assert run.results == {}


@pytest.mark.parametrize(
    ("code", "printed", "failed"),
    [
        (0, "1 passed\n", ""),
        (1, "FAILED tests/sim/test_a.py::test_b[a c - d] - assert 1 == 2\n", "tests/sim/test_a.py::test_b[a c - d]"),
        (1, "FAILED tests/sim/test_a.py::test_b\n", "tests/sim/test_a.py::test_b"),
        (2, "ERROR tests/sim/test_a.py - NameError: x\n", "tests/sim/test_a.py"),
        (-11, "", "pytest itself ended with -11"),
    ],
)
def test_the_first_failed_test_is_named(code: int, printed: str, failed: str) -> None:
    """Also if its file cannot be imported, and if pytest dies."""
    assert first_failed(code, printed) == failed


def result(name: str, file: str, hunt: Hunt, tested: SuiteRun | None = None) -> Result:
    return Result(name=name, file=file, first_seed=0, seeds_max=9, hunt=hunt, tested=tested)


SURVIVOR = result("b", "wire/link.py", Hunt(seeds=9, cpu_s=2))
RESULTS = [
    result("a", "wire/link.py", Hunt(seeds=3, cpu_s=1.5, checker="lost", violation="lost: all")),
    SURVIVOR,
    msgspec.structs.replace(SURVIVOR, tested=SuiteRun(seconds=4, failed="tests/unit/wire/test_link.py::test_b")),
]


def test_results_outlive_an_interruption(tmp_path: Path) -> None:
    """A line that was cut goes, a later line of a mutant replaces its earlier one."""
    path = tmp_path / "results.jsonl"
    first = ResultsFile(path)
    for one in RESULTS:
        first.add(one)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"name":"c","fi')
    assert ResultsFile(path).results == {"a": RESULTS[0], "b": RESULTS[2]}
    assert path.read_bytes() == whole


def test_the_report_counts_by_room_and_shows_each_mutant() -> None:
    """Equivalent mutants are listed with their argument and not counted as hunted."""
    mutants = [Mutant(name=one.name, file=one.file, why="", before="", after="") for one in RESULTS[:2]]
    mutants.append(
        Mutant(name="c", file="session/inbox.py", why="", before="", after="", equivalent="It changes a comment.")
    )
    made = report(mutants, {"a": RESULTS[0], "b": RESULTS[2]})
    assert made.splitlines() == [
        "| room | mutants | equivalent | hunted | found |  | seeds, median | most | CPU s | by tests | survivors |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| session | 1 | 1 | 0 | 0 | 0% | – | – | 0 | – | 0 |",
        "| wire | 2 | 0 | 2 | 1 | 50% | 3 | 3 | 4 | 1 | 0 |",
        "| **all** | 3 | 1 | 2 | 1 | 50% | 3 | 3 | 4 | 1 | 0 |",
        "",
        "Found by: lost 1.",
        "",
        "| mutant | file | found by | seeds | CPU s |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| a | wire/link.py | lost | 3 | 1.5 |",
        "| b | wire/link.py | `tests/unit/wire/test_link.py::test_b` | 9 | 2.0 |",
        "",
        "Not hunted, because nobody can see the change:",
        "",
        "- **c** (session/inbox.py): It changes a comment.",
    ]
