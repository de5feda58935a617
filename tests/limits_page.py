"""docs/reference/limits.md, made from limits.py: `python -m tests.limits_page` writes it, a test compares it."""

from __future__ import annotations

import ast
from pathlib import Path

from agvent import limits
from tests.pages import DOCS

PAGE = DOCS / "reference" / "limits.md"
HEAD = """\
# Limits

Every bound of the package, with its value, its unit and the reason for that number. The names are those of
`agvent.limits`; an error that a bound causes says which one it was. They are constants, not settings.

The table is made from `limits.py` by `python -m tests.limits_page`; a test compares the two.

| name | value | reason |
|---|---|---|
"""
UNITS = {
    "BYTES": "bytes", "CHARS": "characters", "SECONDS": "s", "US": "µs", "ROWS": "rows", "EVENTS": "events",
    "FRAMES": "frames", "MESSAGES": "messages", "HOURS": "hours", "DAYS": "days", "MB": "MB",
}  # fmt: skip


def page() -> str:
    """The page as limits.py has it now."""
    rows = [(", ".join(f"`{name}`" for name in names), "; ".join(map(_value, names)), why) for names, why in reasons()]
    return HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def reasons() -> list[tuple[list[str], str]]:
    """The bounds with the text below them, in the order of the file: bounds in a row share one."""
    found: list[tuple[list[str], str]] = []
    waiting: list[str] = []
    for node in ast.parse(Path(limits.__file__).read_text()).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            waiting.append(node.target.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and waiting:
            text = " ".join(str(node.value.value).split()).replace("|", "\\|")
            found.append((waiting, text))
            waiting = []
    assert not waiting, f"{waiting} have no reason"
    return found


def _value(name: str) -> str:
    """
    >>> _value("EVENT_BYTES_MAX"), _value("TICK_US"), _value("FAULTS_MAX"), _value("CALL_SECONDS_MAX")
    ('16 MiB', '0.5 s', '3', '0.25 s')
    """
    value = getattr(limits, name)
    words = [word for word in name.split("_") if word in UNITS]
    unit = UNITS[words[-1]] if words and "PER" not in name.split("_") else ""
    if unit == "bytes":
        for size, word in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value % size == 0:
                return f"{value // size:,} {word}"
    if unit == "µs":
        return f"{value / 1_000_000:,g} s" if value >= 100_000 else f"{value / 1_000:,g} ms"
    number = f"{value:,}" if isinstance(value, int) else f"{value:g}"
    return f"{number} {unit}".rstrip()


if __name__ == "__main__":
    PAGE.write_text(page())
