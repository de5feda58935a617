"""The pages with figures: each script rewrites the block between its own markers and leaves the rest alone."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

PAGE: Final = Path(__file__).parent.parent / "docs" / "performance.md"


def replace_block(name: str, content: str, *, page: Path | None = None) -> None:
    """Puts the content between `<!-- name:begin -->` and `<!-- name:end -->` of docs/performance.md or another page."""
    page = page or PAGE
    begin, end = f"<!-- {name}:begin -->\n", f"<!-- {name}:end -->"
    before, found, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    assert found, f"{page} has no {begin}"
    assert ended, f"{page} has no {end}"
    page.write_text(f"{before}{begin}{content.strip()}\n{end}{after}")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right of the first column."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [headings, rule, *rows])


def made_by(command: str) -> str:
    """The line under each figure: what made it, where and when."""
    return f"Made by `{command}`\non {machine()}, {datetime.now(UTC):%Y-%m-%d}."


def machine() -> str:
    """The machine and the versions that matter to speed."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numba", "numpy", "msgspec"))
    return f"{os.cpu_count()} cores of {_cpu()}, Python {platform.python_version()}, {packages}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def short(number: float | None) -> str:
    """A number to three figures: 512k, 1.25M, 87.4; nothing as a dash."""
    if number is None:
        return "–"
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if number >= size * 0.9995:
            return f"{_three(number / size)}{unit}"
    return _three(number)


def _three(number: float) -> str:
    return f"{number:.0f}" if number >= 99.95 else f"{number:.3g}"
