"""Structs with many fields are made by keyword: a reader sees which value is which, and a swap of two is an error."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.architecture.test_rooms import SOURCE

FOLDERS = ("broker", "session", "wire", "chronicle", "agents/travel")
"""Where the structs are: messages and their parts, records, and what brokers and sessions keep."""

FIELDS_MIN = 5
"""A struct with so many fields is made by keyword."""

POSITIONAL_MAX = 1
"""What such a struct is about may stand first without its name."""


def module_of(file: Path) -> str:
    return ".".join(("agvent", *file.relative_to(SOURCE).with_suffix("").parts))


def large_structs() -> set[tuple[str, str]]:
    """The structs with many fields, as (module, name)."""
    found = set()
    for file in (file for folder in FOLDERS for file in sorted((SOURCE / folder).rglob("*.py"))):
        for name, value in vars(importlib.import_module(module_of(file))).items():
            is_struct = isinstance(value, type) and issubclass(value, msgspec.Struct)
            if is_struct and value.__module__ == module_of(file) and len(value.__struct_fields__) >= FIELDS_MIN:
                found.add((value.__module__, name))
    return found


LARGE = large_structs()


def calls_by_place(source: str, module: str) -> Iterator[tuple[int, str]]:
    """The calls of large structs with values by place, each as its line and what it makes."""
    tree = ast.parse(source)
    names = {name for home, name in LARGE if home == module}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names if (node.module or "", alias.name) in LARGE}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
            is_spread = any(isinstance(argument, ast.Starred) for argument in node.args)
            if is_spread or len(node.args) > POSITIONAL_MAX:
                yield node.lineno, node.func.id


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_large_structs_are_made_by_keyword(file: Path) -> None:
    """No file gives a struct of five or more fields its values by their places."""
    assert [*calls_by_place(file.read_text(), module_of(file))] == []


def test_the_structs_are_found() -> None:
    """Messages, parts, records and what the tables keep are among them."""
    assert {
        ("agvent.wire.parts", "Publication"),
        ("agvent.wire.broker_messages", "Claim"),
        ("agvent.broker.records", "Arrived"),
        ("agvent.broker.tables.custody", "HeldEvent"),
        ("agvent.agents.travel.stop", "Surroundings"),
    } <= LARGE


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('from agvent.wire.parts import Publication\nPublication("p", 1, b"")', [(2, "Publication")]),
        ('from agvent.wire.parts import Publication as Sent\nf(Sent("p", 1, event=b""))', [(2, "Sent")]),
        ("from agvent.broker.records import Arrived\nArrived(*fields)", [(2, "Arrived")]),
        ('from agvent.wire.parts import Publication\nPublication("p", sequence=1, event=b"")', []),
        ("from agvent.wire.broker_messages import Report\nReport(**fields, broker=name)", []),
        ("from agvent.wire.parts import Target\nTarget(home, 1, 2, 3)", [(2, "Target")]),
        ("from agvent.wire.client_messages import Unsubscribe\nUnsubscribe(1, name)", []),
        ('from agvent.demo.bookshop import Publication\nPublication("p", 1, b"")', []),
    ],
)
def test_a_call_by_place_is_seen(source: str, found: list[tuple[int, str]]) -> None:
    """The check sees values by place and by star, and leaves keywords, small structs and other classes alone."""
    assert [*calls_by_place(source, "agvent.here")] == found
