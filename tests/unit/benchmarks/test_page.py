"""What the benchmark scripts write into docs/performance.md."""

from __future__ import annotations

from pathlib import Path

import pytest

import page
from engine import Rate, Report
from match import check


def test_a_block_is_replaced_and_the_rest_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written = tmp_path / "performance.md"
    written.write_text("before\n<!-- a:begin -->\nold\n<!-- a:end -->\nbetween\n<!-- b:begin -->\n<!-- b:end -->\n")
    monkeypatch.setattr(page, "PAGE", written)
    page.replace_block("b", "new\n")
    page.replace_block("a", "newer\n")
    assert written.read_text() == (
        "before\n<!-- a:begin -->\nnewer\n<!-- a:end -->\nbetween\n<!-- b:begin -->\nnew\n<!-- b:end -->\n"
    )


def test_every_script_has_its_block_in_the_page() -> None:
    text = page.PAGE.read_text()
    for name in ("match", "single", "build", "churn", "growth"):
        assert text.count(f"<!-- {name}:begin -->\n") == 1
        assert text.count(f"<!-- {name}:end -->") == 1


def test_a_table_is_markdown() -> None:
    assert page.table(["", "a"], [["x", "1"]]) == "|  | a |\n| --- | ---: |\n| x | 1 |"


@pytest.mark.parametrize(
    ("number", "shown"),
    [(None, "–"), (0.0123, "0.0123"), (1.5, "1.5"), (999, "999"), (999.7, "1k"), (1_000_000, "1M"), (123_456, "123k")],
)
def test_numbers_have_three_figures(number: float | None, shown: str) -> None:
    assert page.short(number) == shown


def report(counts: list[int]) -> Report:
    return Report(
        engine="scan",
        rate=Rate(1, 1.0, 1.0, 1.0),
        build_s=0.0,
        parse_share=None,
        matches_per_event=0.0,
        peak_rss_bytes=0,
        index_bytes=None,
        counts=counts,
    )


def test_engines_that_disagree_may_not_be_compared() -> None:
    check(report([3, 0, 2]), report([3, 0]))
    with pytest.raises(SystemExit, match="event 1 matches 0 by the index, 1 by the scan"):
        check(report([3, 0, 2]), report([3, 1]))
