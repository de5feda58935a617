"""The documentation leads somewhere: its links, the files and functions that it names, the length of its lines."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.pages import BLOCK, DOCS, LINK, PAGES, ROOT, TEXTS, anchors, name_of, prose

SOURCE = ROOT / "src" / "agvent"
NAMED_FILE = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|lock))`")
NAMED_FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
NAMED_FUNCTION = re.compile(r"`([\w/-]+\.py)`(?: ·)?\s+`([A-Za-z_][\w.]*)(?:\(\))?`")
EXAMPLES = {"book.py", "first.py", "hello.py", "house.py", "subscriber.py"}
"""Files that a page has its reader write."""

LINE_CHARS_MAX = 120
WRAPPED = {"python", "pycon", "sh", "toml"}
"""Blocks whose lines can be broken. The output of a command or a drawing cannot."""

CELL = re.compile(r"(?<!\\)\|")
GENERATED = {"docs/reference/limits.md", "docs/reproduction.md"}
"""Pages whose tables a program writes."""


def broken_links(page: str, folder: Path) -> list[str]:
    """The links of a page to files that are not there, and to headings that are not in them."""
    broken = []
    for link in LINK.findall(prose(page)):
        path, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        target = folder / path if path else None
        if (target is not None and not target.exists()) or (
            anchor and anchor not in anchors(page if target is None else target.read_text())
        ):
            broken.append(link)
    return broken


def found(path: str, page: Path) -> Path | None:
    """The file or folder that a page means: from the root, from the package, beside the page, or by its name alone."""
    for folder in (ROOT, SOURCE, page.parent, DOCS):
        if (folder / path).exists():
            return folder / path
    if "/" in path:
        return None
    folders = (SOURCE, ROOT / "tests", ROOT / "benchmarks", ROOT / "examples")
    return next((file for folder in folders for file in folder.rglob(path)), None)


def rooms() -> set[str]:
    """The folders that a path of the repository begins with."""
    folders = [folder for folder in (*SOURCE.iterdir(), *ROOT.iterdir()) if folder.is_dir()]
    return {folder.name for folder in folders if folder.name not in {"build", "dist"}}


def defined(path: Path) -> set[str]:
    """The functions, classes, methods and constants of a module, by their dotted names."""
    names: set[str] = set()

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(prefix + node.name)
                walk(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.Assign):
                names.update(prefix + one.id for one in node.targets if isinstance(one, ast.Name))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(prefix + node.target.id)

    walk(ast.parse(path.read_text()).body, "")
    return names


def missing_files(text: str, page: Path) -> list[str]:
    """The files and folders that a page names in backticks and that are not there."""
    files = [path for path in NAMED_FILE.findall(text) if path not in EXAMPLES]
    folders = [path for path in NAMED_FOLDER.findall(text) if path.split("/")[0] in rooms()]
    return [path for path in (*files, *folders) if found(path, page) is None]


def missing_functions(text: str, page: Path) -> list[str]:
    """The functions that a page names behind their file, "`broker/broker.py` `Broker.step`", and that are not there."""
    named = [(path, name, found(path, page)) for path, name in NAMED_FUNCTION.findall(text)]
    return [f"{path} {name}" for path, name, file in named if file is None or name not in defined(file)]


def long_cells(text: str) -> list[int]:
    """The rows of tables with a cell longer than a line, by number: prose that belongs below the table. A link counts
    as its text."""
    rows = ((at, LINK.sub("]", line)) for at, line in enumerate(prose(text).splitlines(), 1) if line.startswith("|"))
    return [at for at, row in rows if any(len(cell.strip()) > LINE_CHARS_MAX for cell in CELL.split(row))]


def long_lines(text: str) -> list[int]:
    """The lines that are too long and could be broken, by number. A row of a table cannot be, but see `long_cells`."""
    fixed = {
        at
        for block in BLOCK.finditer(text)
        if block[1] not in WRAPPED
        for at in range(text.count("\n", 0, block.start()), text.count("\n", 0, block.end()))
    }
    lines = enumerate(text.splitlines())
    return [at + 1 for at, line in lines if len(line) > LINE_CHARS_MAX and at not in fixed and not line.startswith("|")]


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    """A link to a file of the repository names one that is there, and one to a heading a heading."""
    assert broken_links(page.read_text(), page.parent) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    """A path in backticks is a file or folder of the repository."""
    assert missing_files(page.read_text(), page) == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_function_that_a_page_names_is_there(page: Path) -> None:
    """A name in backticks behind a file in backticks is defined in that file."""
    assert missing_functions(page.read_text(), page) == []


@pytest.mark.parametrize("page", TEXTS, ids=name_of)
def test_lines_have_at_most_120_characters(page: Path) -> None:
    """Lines of prose and code are at most 120 characters long, where they can be broken."""
    assert long_lines(page.read_text()) == []


@pytest.mark.parametrize("page", [page for page in TEXTS if name_of(page) not in GENERATED], ids=name_of)
def test_cells_of_tables_have_at_most_120_characters(page: Path) -> None:
    """A row may be longer than a line, as it cannot be broken; a cell may not. A link counts as its text."""
    assert long_cells(page.read_text()) == []


def test_every_page_is_in_the_index() -> None:
    """docs/index.md links to every page of the documentation."""
    linked = {(DOCS / link.partition("#")[0]).resolve() for link in LINK.findall((DOCS / "index.md").read_text())}
    assert [name_of(page) for page in DOCS.rglob("*.md") if page.name != "index.md" and page not in linked] == []


def test_the_source_names_pages_that_are_there() -> None:
    """A page that a docstring or a help text names is there."""
    sources = [path for folder in ("src", "tests", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    named = {(path, page) for path in sources for page in re.findall(r"docs/[\w/-]+\.md", path.read_text())}
    assert [f"{name_of(path)}: {page}" for path, page in sorted(named) if not (ROOT / page).exists()] == []


def test_a_page_that_leads_nowhere_is_seen(tmp_path: Path) -> None:
    """A broken link, anchor, path, function and a long line are each found."""
    other = tmp_path / "other.md"
    other.write_text("# A heading\n")
    page = "[a](other.md#a-heading) [b](other.md#b) [c](none.md) [d](#here) [e](https://example.org/x)\n\n# There\n"
    assert broken_links(page, tmp_path) == ["other.md#b", "none.md", "#here"]
    text = "`broker/broker.py` and `broker/none.py`, `tests/sim/` and `tests/none/`, `broker.py`, `first.py`\n"
    assert missing_files(text, other) == ["broker/none.py", "tests/none/"]
    text = "`broker/broker.py` `Broker.step()`, `broker/broker.py` · `Broker.stop_it`, `limits.py` `INT_MAX`"
    assert missing_functions(text, other) == ["broker/broker.py Broker.stop_it"]
    wide = "x" * 121
    address = f"| [x]({wide}) | a \\| b |\n"
    assert long_cells(f"| {wide} |\n{address}| {'x' * 120} | {'x' * 120} |\n```\n| {wide} |\n```\n") == [1]
    assert long_lines(f"{wide}\n| {wide} |\n```\n{wide}\n```\n```python\n{wide}\n```\n") == [1, 7]
