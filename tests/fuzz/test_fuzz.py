"""Every target holds on its first inputs and on all that ever failed; the fuzzer itself sees what is broken."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest

from agvent.errors import CallerError
from tests.fuzz import corpus, documents, targets
from tests.fuzz import run as fuzz
from tests.fuzz.mutation import HUGE_MAX, Mutations
from tests.fuzz.target import Input, Target, refused
from tests.fuzz.targets import TARGETS

INPUTS = 400
"""Of each target; `make fuzz` tries more."""

OPEN: dict[str, set[str]] = {}
"""Defects that are reported and not yet mended. Whoever mends one takes it out here; its case stays in found/."""

CASES = sorted(path for path in fuzz.FOUND.iterdir() if path.name != ".gitkeep")


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_on_its_first_inputs(name: str) -> None:
    """Nothing but our own errors comes out, what is promised holds, and no input takes longer than its bound."""
    tally = fuzz.run(name, 0, range(INPUTS))
    assert [one.report for one in tally.findings if one.kind not in OPEN.get(name, ())] == []
    assert 0 < tally.accepted < tally.inputs == INPUTS


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name)
def test_an_input_that_once_failed_holds(path: Path) -> None:
    """Each was found by the fuzzer; one of a defect that is still open is expected to fail."""
    name, given = fuzz.saved(path)
    kind = failure(name, given)
    if kind in OPEN.get(name, ()):
        pytest.xfail(kind)
    assert kind == ""


def failure(name: str, given: Input) -> str:
    """The kind of defect that an input shows, or nothing."""
    try:
        fuzz.tried(TARGETS[name], given)
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is looked for
        return fuzz.kind_of(error)
    return ""


def test_every_open_defect_is_still_there() -> None:
    """One that was mended does not stay in the list, where it would hide its return. A quick machine mends slowness."""
    kinds = {(name, failure(name, given)) for name, given in map(fuzz.saved, CASES)}
    listed = {(name, kind) for name, kinds in OPEN.items() for kind in kinds}
    assert {(name, kind) for name, kind in listed - kinds if kind != "AssertionError in tried"} == set()


@pytest.mark.parametrize("language", corpus.FILTERS)
def test_good_filters_are_accepted(language: str) -> None:
    """Otherwise the mutations start from something that is refused at once."""
    assert all(targets.check_filter(language, text) for text in corpus.FILTERS[language])


def test_the_other_good_inputs_are_accepted() -> None:
    assert all(map(targets.check_shape, corpus.SHAPES))
    assert all(map(targets.check_json, corpus.EVENTS))
    assert targets.check_saved(targets.saved_index().whole)
    assert targets.check_saved(targets.with_header(targets.saved_index().header))
    assert all(map(documents.check_document, corpus.DOCUMENTS))
    assert all(map(documents.check_notification, corpus.NOTIFICATIONS))
    assert all(documents.check_question(f"{xpath}\f{corpus.DOCUMENTS[0]}") for xpath in corpus.FILTERS["xpath"])
    assert [line for line in corpus.SUBSCRIPTIONS if not targets.check_subscription(line)] == []


def test_an_input_is_known_by_target_seed_and_number() -> None:
    """The same again, and another for another seed or number."""
    for name in TARGETS:
        assert fuzz.input_of(name, 3, 7) == fuzz.input_of(name, 3, 7)
    drawn = {fuzz.input_of("sql", seed, number) for seed in range(10) for number in range(10)}
    assert len(drawn) > 90


def test_inputs_reach_beyond_every_bound_on_a_filter() -> None:
    """Some are longer than a filter may be, and none is longer than what the fuzzer allows itself."""
    draw = Mutations(corpus.FILTERS["sql"]).draw
    sizes = [len(draw(Random(number))) for number in range(8_000)]
    assert 65_536 < max(sizes) <= HUGE_MAX


def test_a_defect_is_found_saved_and_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A parser that fails on a letter: one finding for one place, known by its number; a refusal is none."""

    def broken(text: str) -> NoReturn:
        raise KeyError(text) if "I" in text else CallerError("no")

    def check(text: str) -> bool:
        try:
            broken(text)
        except CallerError as error:
            return refused(error)

    monkeypatch.setattr(fuzz, "TARGETS", {"broken": Target(Mutations(("IBM", "HP")).draw, check)})
    tally = fuzz.run("broken", 1, range(200))
    [finding] = tally.findings
    assert (tally.inputs, finding.kind) == (200, "KeyError in broken")
    assert 0 < tally.failed < 200
    path = fuzz.save("broken", fuzz.input_of("broken", finding.seed, finding.number), tmp_path)
    name, given = fuzz.saved(path)
    assert name == "broken"
    with pytest.raises(KeyError):
        check(str(given))


def test_an_input_that_takes_too_long_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """CPU time beyond the bound is found, however often it is measured."""

    def slow(_: str) -> bool:
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        return True

    monkeypatch.setattr(fuzz, "TARGETS", {"slow": Target(Mutations(("a",)).draw, slow, base_s=0.001, unit_s=0)})
    tally = fuzz.run("slow", 0, range(2))
    assert (tally.failed, tally.accepted) == (2, 0)
    assert "its bound is 0.001 s" in tally.findings[0].report


def test_an_input_that_takes_too_much_memory_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the process's peak grows by is compared with the bound."""

    def greedy(_: str) -> bool:
        return len(b"x" * (fuzz.peak_bytes() + (64 << 20))) > 0

    monkeypatch.setattr(fuzz, "MEMORY_BYTES_MAX", 1 << 20)
    monkeypatch.setattr(fuzz, "TARGETS", {"greedy": Target(Mutations(("a",)).draw, greedy, base_s=60)})
    tally = fuzz.run("greedy", 0, range(1))
    assert tally.failed == 1
    assert "its bound is 1 MB" in tally.findings[0].report


def test_work_counts_only_where_the_cheaper_bound_is_passed() -> None:
    """Then it is added to it."""
    target = Target(Mutations(("a",)).draw, bool, base_s=1.0, unit_s=0.5, work_s=lambda _: 10.0)
    assert (target.bound_s("aa", 2.0), target.bound_s("aa", 2.1)) == (2.0, 12.0)


def test_constructs_are_exchanged_for_their_like() -> None:
    """Of the inputs near a language with parts a fifth or more are good."""
    for name in ("sql", "elvin", "xpath", "documents", "questions"):
        assert fuzz.run(name, 1, range(INPUTS)).accepted > INPUTS / 5


def test_a_lone_surrogate_survives_being_saved(tmp_path: Path) -> None:
    path = fuzz.save("sql", "a = '\ud800'", tmp_path)
    assert fuzz.saved(path) == ("sql", "a = '\ud800'")
