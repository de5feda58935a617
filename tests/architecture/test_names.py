"""Names: a class name occurs once in the package, no two files of a room share a word family, none is vague."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.architecture.test_rooms import SOURCE

SHARED_CLASSES = {"Book", "Publication"}
"""Classes that may occur twice. A class name is the type's name: `Book` is a type of the demo and of the simulator,
`Publication` a type of the demo and the message that carries any event."""

SHARED_FAMILIES: dict[str, set[str]] = {
    "broker/routing": {
        "router",
        "routes",
    },  # routes.py is the graph with its paths, router.py sends messages along them
}
"""Files of one folder that may share a word family."""

NAMED_BY_COMMANDS = {"cli"}
"""Rooms whose files are named by the commands that they implement."""

VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "handler", "service", "base", "misc"}

ENDINGS = ("ings", "ing", "ations", "ation", "ions", "ion", "als", "al", "ers", "er", "ors", "or", "ed", "es", "s", "e")
STEM_MIN = 3


def stem(word: str) -> str:
    """The stem of an English word, as far as endings tell it: `arrivals` and `arriving` have one.

    >>> stem("arrivals"), stem("arriving"), stem("router"), stem("routes"), stem("log")
    ('arriv', 'arriv', 'rout', 'rout', 'log')
    """
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_MIN:
            return word.removesuffix(ending)
    return word


def family(name: str) -> tuple[str, ...]:
    """The stems of a file's name, word by word."""
    return tuple(stem(word) for word in name.split("_"))


def families_shared(names: Iterable[str]) -> list[list[str]]:
    """The names of one folder that differ by an ending only."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name in sorted(names):
        found[family(name)].append(name)
    return [names for names in found.values() if len(names) > 1]


def vague_names(names: Iterable[str]) -> list[str]:
    """The names that say nothing of what a file holds; `manager_agent` is the seeds' own word."""
    return [name for name in names if name != "manager_agent" and not VAGUE.isdisjoint(name.split("_"))]


def classes_shared(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """The public classes that several files define, each with its files."""
    found: dict[str, list[str]] = defaultdict(list)
    for file, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(file)
    return {name: files for name, files in found.items() if len(files) > 1}


FOLDERS: dict[Path, list[str]] = defaultdict(list)
for _file in sorted(SOURCE.rglob("*.py")):
    if not _file.stem.startswith("__"):
        FOLDERS[_file.parent].append(_file.stem)


def test_a_class_name_occurs_once() -> None:
    """A class name says which class is meant, wherever one reads it."""
    sources = {str(file.relative_to(SOURCE)): file.read_text() for file in sorted(SOURCE.rglob("*.py"))}
    assert {name: files for name, files in classes_shared(sources).items() if name not in SHARED_CLASSES} == {}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SOURCE)))
def test_no_two_files_share_a_word_family(folder: Path) -> None:
    """No folder has `arrivals` beside `arriving`: nobody could guess which holds what."""
    room = str(folder.relative_to(SOURCE))
    if room not in NAMED_BY_COMMANDS:
        allowed = SHARED_FAMILIES.get(room, set())
        assert [names for names in families_shared(FOLDERS[folder]) if not set(names) <= allowed] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: str(folder.relative_to(SOURCE)))
def test_no_file_has_a_vague_name(folder: Path) -> None:
    """A file is named by what it holds."""
    assert vague_names(FOLDERS[folder]) == []


def test_a_repeated_class_is_seen() -> None:
    """The check finds a class that two files define, inside a function too."""
    sources = {"a.py": "class Plan: ...", "b.py": "def f():\n    class Plan: ...", "c.py": "class Route: ..."}
    assert classes_shared(sources) == {"Plan": ["a.py", "b.py"]}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["arrivals", "arriving"], [["arrivals", "arriving"]]),
        (["moves", "moving", "link"], [["moves", "moving"]]),
        (["router", "routes"], [["router", "routes"]]),
        (["match", "matcher", "matches"], [["match", "matcher", "matches"]]),
        (["log_match", "log_matches"], [["log_match", "log_matches"]]),
        (["journal", "journal_file", "journal_tail"], []),
        (["sql_tokens", "xpath_tokens"], []),
    ],
)
def test_a_shared_word_family_is_seen(names: list[str], found: list[list[str]]) -> None:
    """The check finds names that differ by an ending, and leaves names with another word alone."""
    assert families_shared(names) == found


def test_a_vague_name_is_seen() -> None:
    """The check finds a vague word anywhere in a name."""
    assert vague_names(["utils", "request_handler", "manager_agent", "database"]) == ["utils", "request_handler"]
