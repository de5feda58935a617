"""The documentation runs: Python blocks and docstrings as they stand, `$ agvent` lines with the output they show."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import agvent
from agvent.net.client import Client
from agvent.net.deliveries import Batch, Delivery
from agvent.net.script import ScriptClient, ScriptSubscription
from agvent.net.subscribed import Subscribed

AGVENT = Path(sys.executable).with_name("agvent")
ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def grouped(group: str) -> list[Any]:
    """The pages; those that start Spark in the group of tests that do so one after the other."""
    spark = pytest.mark.xdist_group(group)
    return [pytest.param(page, marks=spark) if "agvent.spark" in page.read_text() else page for page in PAGES]


FLAGS = doctest.ELLIPSIS
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MODULES = sorted(module.name for module in pkgutil.walk_packages(agvent.__path__, "agvent."))


def blocks(page: str, *languages: str) -> Iterator[tuple[int, str]]:
    """The fenced blocks of a page in these languages, each with the line where it starts."""
    for block in BLOCK.finditer(page):
        if block[1] in languages:
            yield page.count("\n", 0, block.start(2)), block[2]


def run_python(page: str, name: str) -> list[str]:
    """Runs a page's Python blocks in order and in one scope, and gives the places where `>>>` lines lie."""
    failures: list[str] = []
    scope: dict[str, Any] = {"__name__": name}
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for line, source in blocks(page, "python", "pycon"):
        if ">>>" in source:
            test = doctest.DocTestParser().get_doctest(source, scope, name, name, line)
            runner.run(test, out=failures.append, clear_globs=False)
            scope = test.globs
        else:
            exec(compile("\n" * line + source, name, "exec"), scope)
    return failures


def commands(block: str) -> Iterator[tuple[str, str]]:
    """The `$` lines of a console block, each with the output below it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_console(page: str, folder: Path) -> list[tuple[str, str, str]]:
    """Runs the `$ agvent` lines of a page. `$ cat FILE` shows a file, which is written as shown. Gives what differs."""
    differences = []
    for _, block in blocks(page, "console"):
        for command, shown in commands(block):
            words = shlex.split(command)
            if words[0] == "cat":
                (folder / words[1]).write_text(shown)
            elif words[0] == "agvent":
                run = subprocess.run([AGVENT, *words[1:]], cwd=folder, capture_output=True, text=True, check=False)
                if run.stdout + run.stderr != shown:
                    differences.append((command, shown, run.stdout + run.stderr))
    return differences


@pytest.mark.parametrize("page", grouped("spark"), ids=lambda page: page.name)
def test_python_in_the_documentation_runs(page: Path) -> None:
    """Every Python block of a page runs, and prints what the page says."""
    assert run_python(page.read_text(), page.name) == []


CLIENT_PAGES = [ROOT / "docs" / name for name in ("network.md", "agvents.md", "self-routing.md")]
CLIENT = [Client, Subscribed, ScriptClient, ScriptSubscription, Delivery, Batch]


def public(kind: type) -> Iterator[tuple[str, Any]]:
    """The calls of a class, and what computes its properties."""
    for name, member in vars(kind).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if inspect.isfunction(function) and not name.startswith("_"):
            yield f"{kind.__name__}.{name}", function


def called_by(page: Path) -> set[CodeType]:
    """What a page's Python calls, here and in the threads that it starts."""
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        assert run_python(page.read_text(), page.name) == []
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return called


def test_every_call_of_the_client_has_an_example_that_runs() -> None:
    """The pages about clients make each public call of a client, its subscriptions and what they give, and name each
    option of it."""
    called = set().union(*(called_by(page) for page in CLIENT_PAGES))
    functions = [one for kind in CLIENT for one in public(kind)]
    assert [name for name, function in functions if function.__code__ not in called] == []
    code = "".join(source for page in CLIENT_PAGES for _, source in blocks(page.read_text(), "python"))
    options = {option for _, function in functions for option in function.__kwdefaults__ or ()}
    assert [option for option in sorted(options) if f"{option}=" not in code] == []


@pytest.mark.parametrize("page", grouped("spark processes"), ids=lambda page: page.name)
def test_commands_in_the_documentation_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Every `$ agvent` line of a page prints what the page shows below it."""
    assert run_console(page.read_text(), tmp_path) == []


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples_hold(module: str) -> None:
    """The `>>>` examples in a module's docstrings print what they show."""
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(test, out=failures.append)
    assert failures == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    """A link to a file of the repository names one that is there."""
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text())
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_a_page_that_lies_is_seen(tmp_path: Path) -> None:
    """A wrong result, an exception and a wrong output are each found."""
    assert len(run_python("```python\n>>> 1 + 1\n3\n```\n", "wrong")) == 1
    assert run_python("```python\na = 1\n```\ntext\n```python\n>>> a\n1\n```\n", "right") == []
    with pytest.raises(ZeroDivisionError):
        run_python("```python\n1 / 0\n```\n", "raises")
    page = "```console\n$ cat e.json\n{}\n$ agvent --version\nagvent 0\n```\n"
    [(command, shown, printed)] = run_console(page, tmp_path)
    assert (command, shown) == ("agvent --version", "agvent 0\n")
    assert printed.startswith("agvent ")
    assert (tmp_path / "e.json").read_text() == "{}\n"
