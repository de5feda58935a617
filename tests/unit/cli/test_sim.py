"""`agvent sim`: what it prints, and its exit code."""

from __future__ import annotations

import argparse
import re
from functools import partial
from pathlib import Path

import msgspec
import pytest

from agvent.cli import sim
from agvent.sim.run import replayed, simulated
from tests.sim import broken


def agvent_sim(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="agvent sim")
    sim.configure(parser)
    args = parser.parse_args(words)
    code: int = args.run(args)
    return code


def test_the_summary_counts_runs_and_what_happened_in_them(capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints one object: runs, violations, events, deliveries, faults by kind."""
    assert agvent_sim("--first-seed", "32", "--seeds", "2", "--jobs", "1", "--json") == 0
    summary = msgspec.json.decode(capsys.readouterr().out)
    assert (summary["runs"], summary["violations"]) == (2, 0)
    assert summary["events"] > 0
    assert sum(summary["faults"].values()) > 0
    assert list(summary) == [
        "runs", "violations", "events", "deliveries", "steps", "frames", "virtual_s", "faults"
    ]  # fmt: skip


def test_several_jobs_give_the_same_summary(capsys: pytest.CaptureFixture[str]) -> None:
    """How many processes run the seeds changes nothing but the time."""
    for jobs in ("1", "2"):
        agvent_sim("--seeds", "3", "--faults", "none", "--jobs", jobs, "--json")
    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_a_trace_has_a_line_for_everything_in_fixed_columns(capsys: pytest.CaptureFixture[str]) -> None:
    """--trace prints when, who, whom, what; the summary comes last."""
    assert agvent_sim("--topology", "line", "--faults", "links", "--seed", "8", "--trace") == 0
    *lines, totals, faults = capsys.readouterr().out.splitlines()
    assert totals.startswith("1 runs, 0 violations: ")
    assert faults.startswith("faults: ")
    assert {line[13:15] for line in lines} == {"  "}
    assert {line[22] for line in lines} == {"→", "=", "-", "!", "*"}
    times = [float(line[:13]) for line in lines]
    assert times == sorted(times)


def test_a_violation_is_one_line_that_says_how_to_replay_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run with a violation gives exit code 1, and a line with the command that shows it."""
    monkeypatch.setattr("agvent.sim.sweep.simulated", partial(simulated, make=broken.DeliversToEverybody))
    assert agvent_sim("--topology", "star", "--faults", "none", "--seed", "2") == 1
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("violation: unasked: ")
    assert line.endswith("; replay: agvent sim --topology star --faults none --seed 2 --trace")


def test_a_trace_is_of_one_seed(capsys: pytest.CaptureFixture[str]) -> None:
    """--trace without --seed is a mistake."""
    with pytest.raises(SystemExit):
        agvent_sim("--trace")
    assert "--trace needs --seed" in capsys.readouterr().err


def test_a_first_seed_is_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    """--first-seed beside --seed is a mistake, though it be 0."""
    with pytest.raises(SystemExit):
        agvent_sim("--seed", "7", "--first-seed", "0")
    assert "--first-seed begins a row of --seeds" in capsys.readouterr().err


def test_a_trace_leaves_json_alone(capsys: pytest.CaptureFixture[str]) -> None:
    """With --json the summary is all that is on standard output, and the trace is on standard error."""
    assert agvent_sim("--topology", "line", "--faults", "none", "--seed", "8", "--trace", "--json") == 0
    out, err = capsys.readouterr()
    assert msgspec.json.decode(out)["runs"] == 1
    assert {line[22] for line in err.splitlines()} >= {"→", "="}


def test_a_failing_seed_is_reduced_to_a_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """--reduce prints a script with the violation above it; --script runs that, and it fails no longer when mended."""
    with monkeypatch.context() as patch:
        patch.setattr("agvent.sim.reduce.replayed", lambda plan, **_: replayed(plan, make=broken.DeliversToEverybody))
        assert agvent_sim("--topology", "star", "--faults", "none", "--seed", "2", "--reduce") == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("# violation: unasked: ")
    assert re.match(r"# steps \d+ → [45], brokers \d → 2, .*; \d+ runs, \d+ s\nseed 2\n", printed.out.split("\n", 1)[1])
    script = tmp_path / "small.txt"
    script.write_text(printed.out)
    assert agvent_sim("--script", str(script), "--trace") == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(": 0 violations")
    assert agvent_sim("--script", str(script), "--reduce", "--json") == 0
    assert capsys.readouterr().err == "no violation: there is nothing to reduce\n"


def test_one_run_is_reduced(capsys: pytest.CaptureFixture[str]) -> None:
    """--reduce without --seed or --script is a mistake."""
    with pytest.raises(SystemExit):
        agvent_sim("--reduce")
    assert "--reduce needs --seed or --script" in capsys.readouterr().err


def test_coverage_is_reported_as_text_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """--coverage prints a line for each table and for what was never met; --json the same as an object."""
    assert agvent_sim("--first-seed", "32", "--seeds", "1", "--coverage") == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert re.match(r"branches: [\d,]+ of [\d,]+ met \(\d\d\.\d%\)$", first)
    assert last == "1 runs, 0 with a violation"
    assert agvent_sim("--first-seed", "32", "--seeds", "1", "--coverage", "--json") == 0
    coverage = msgspec.json.decode(capsys.readouterr().out)["coverage"]
    assert list(coverage) == ["branches", "faults × phases", "kinds × faults", "kinds × mixes", "messages × states"]
    assert "swarm" in coverage["kinds × mixes"]["never"]["Copies"]


def test_a_guided_sweep_keeps_its_worlds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--guided adds the worlds that met something new to a file, and says what guidance was worth."""
    corpus = tmp_path / "corpus.jsonl"
    agvent_sim("--seeds", "5", "--guided", str(corpus), "--jobs", "1")
    printed = capsys.readouterr().out
    assert re.search(r"corpus: \d worlds, after 1 at first\nblind: 2 runs met .*\nguided: 2 runs met ", printed)
    kept = corpus.read_text().splitlines()
    agvent_sim("--seeds", "1", "--guided", str(corpus), "--json")
    assert msgspec.json.decode(capsys.readouterr().out)["first"]["runs"] == len(kept)
