"""The documentation runs: Python blocks and docstrings as they stand, `$ agvent` lines with the output they show."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import agvent
from agvent.net.client.client import Client
from agvent.net.client.deliveries import Batch, Delivery
from agvent.net.client.open_subscription import OpenSubscription
from agvent.net.client.script import ScriptClient, ScriptSubscription
from tests.console import run_console
from tests.pages import DOCS, PAGES, blocks, name_of

FLAGS = doctest.ELLIPSIS
MODULES = sorted(module.name for module in pkgutil.walk_packages(agvent.__path__, "agvent."))
SPARK_EXAMPLES = {
    f"agvent.spark.{name}"
    for name in (
        "analysis.analyse",
        "audits.audit",
        "discovery.discover",
        "matches.count_matches",
        "matches.match",
        "pushdown.to_column",
        "replays.log_replay",
        "replays.table_replay",
        "runtime.session",
        "streams.dispatch",
        "streams.register",
    )
}
"""Modules whose examples start Spark: they run in the group of tests that share a session."""


def grouped(group: str) -> list[Any]:
    """The pages; those that start Spark in the group of tests that do so one after the other."""
    spark = pytest.mark.xdist_group(group)
    return [pytest.param(page, marks=spark) if "agvent.spark" in page.read_text() else page for page in PAGES]


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
            exec(compile("\n" * line + source, name, "exec", dont_inherit=True), scope)
    return failures


@pytest.mark.parametrize("page", grouped("spark"), ids=name_of)
def test_python_in_the_documentation_runs(page: Path) -> None:
    """Every Python block of a page runs, and prints what the page says."""
    assert run_python(page.read_text(), name_of(page)) == []


CLIENT_PAGES = [DOCS / name for name in ("how-to/publish-and-subscribe.md", "agvents.md", "self-routing.md")]
CLIENT = [Client, OpenSubscription, ScriptClient, ScriptSubscription, Delivery, Batch]


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
        assert run_python(page.read_text(), name_of(page)) == []
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


@pytest.mark.parametrize("page", grouped("spark processes"), ids=name_of)
def test_commands_in_the_documentation_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    """Every `$ agvent` line of a page prints what the page shows below it."""
    assert run_console(page.read_text(), tmp_path) == []


@pytest.mark.parametrize(
    "module",
    [pytest.param(one, marks=pytest.mark.xdist_group("spark")) if one in SPARK_EXAMPLES else one for one in MODULES],
)
def test_docstring_examples_hold(module: str) -> None:
    """The `>>>` examples in a module's docstrings print what they show."""
    failures: list[str] = []
    runner = doctest.DocTestRunner(optionflags=FLAGS, verbose=False)
    for test in doctest.DocTestFinder().find(importlib.import_module(module)):
        runner.run(test, out=failures.append)
    assert failures == []


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
