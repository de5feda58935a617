"""The pages of the documentation as the tests see them: their files, blocks and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
"""Every text that people read: the pages, and those beside them that have nothing to run."""

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)


def name_of(page: Path) -> str:
    """A page's path from the root, as the names of tests have it."""
    return str(page.relative_to(ROOT))


def blocks(page: str, *languages: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a page in these languages, each with the line where it starts."""
    for block in BLOCK.finditer(page):
        if block[1] in languages:
            yield page.count("\n", 0, block.start(2)), block[2]


def prose(page: str) -> str:
    """A page with its fenced blocks emptied, so that its lines keep their numbers."""
    return BLOCK.sub(lambda block: "\n" * block[0].count("\n"), page)


def anchors(page: str) -> set[str]:
    """What a link may name behind `#`: the headings, as code hosts and the site spell them.

    >>> sorted(anchors("# The broker's file\\n\\n## `agvent up` [TOPOLOGY]\\n"))
    ['agvent-up-topology', 'the-brokers-file']
    """
    return {slug(heading) for heading in HEADING.findall(prose(page))}


def slug(heading: str) -> str:
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def table_rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the tables below a heading, headers and rules left out; `\\|` is a character of a cell."""
    at = re.search(rf"^#+ {re.escape(heading)}$", page, re.MULTILINE)
    assert at is not None, f"no heading {heading!r}"
    below = page[at.end() :]
    end = re.search(r"^#", below, re.MULTILINE)
    lines = below[: end.start() if end else None].splitlines()
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("|")]
    rules = [at for at, row in enumerate(rows) if all(re.fullmatch(r"[-: ]+", cell) for cell in row)]
    headers = {at - 1 for at in rules} | set(rules)
    return [row for at, row in enumerate(rows) if at not in headers]
