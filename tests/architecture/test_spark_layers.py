"""The layers of `spark/`: imports between its folders point one way, and no folder hides a public function.

runtime ─▶ files ─▶ rosters ─▶ matches ─▶ log ─▶ streams
                                  │        └───▶ audits ─▶ analysis
pushdown ───────────────────────▶ replays ─▶ discovery
"""

from __future__ import annotations

import ast
from pathlib import Path
from types import ModuleType

import pytest

import agvent.spark

ROOM = Path(__file__).parents[2] / "src" / "agvent" / "spark"

BELOW: dict[str, set[str]] = {
    "runtime": set(),
    "files": {"runtime"},
    "rosters": {"files"},
    "matches": {"rosters"},
    "pushdown": set(),
    "replays": {"pushdown", "matches"},
    "discovery": {"replays"},
    "log": {"matches"},
    "streams": {"log"},
    "audits": {"log"},
    "analysis": {"audits"},
    "": {"streams", "analysis", "discovery"},
}
"""The folders that each folder may import, and with them the folders below those. "" is the front door."""

FILES = sorted(ROOM.rglob("*.py"))


def reach(layer: str) -> set[str]:
    found = {layer}
    for below in BELOW[layer]:
        found |= reach(below)
    return found


def layer_of(file: Path) -> str:
    parts = file.relative_to(ROOM).parts
    return parts[0] if len(parts) > 1 else ""


def wrong_imports(layer: str, source: str) -> list[str]:
    """The modules of `agvent.spark` that a file of this layer imports and may not."""
    found = []
    for node in ast.walk(ast.parse(source)):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        ours = [module for module in modules if module.startswith("agvent.spark.")]
        found += [module for module in ours if module.split(".")[2] not in reach(layer)]
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOM)))
def test_imports_point_down(file: Path) -> None:
    """A file imports only from its own folder and the folders below it."""
    assert wrong_imports(layer_of(file), file.read_text()) == []


def test_every_folder_has_its_place_and_its_rules() -> None:
    """The table has every folder, each `__init__.py` states its rules, and only the front door lies outside them."""
    assert {layer_of(file) for file in FILES} == BELOW.keys()
    assert [file.name for file in FILES if layer_of(file) == ""] == ["__init__.py"]
    for layer in BELOW.keys() - {""}:
        assert "Rules of this layer" in (ROOM / layer / "__init__.py").read_text(), layer


@pytest.mark.parametrize(
    ("layer", "source", "found"),
    [
        ("files", "from agvent.spark.matches.match import match", ["agvent.spark.matches.match.match"]),
        ("matches", "def f():\n    from agvent.spark.log import offsets", ["agvent.spark.log.offsets"]),
        ("pushdown", "import agvent.spark.runtime.session", ["agvent.spark.runtime.session"]),
        ("log", "from agvent.spark import match", ["agvent.spark.match"]),
        ("analysis", "from agvent.spark.runtime.session import session\nimport agvent.store.log_reader", []),
    ],
)
def test_a_wrong_import_is_seen(layer: str, source: str, found: list[str]) -> None:
    """The check sees imports of every form, inside functions too, and that of the front door from within."""
    assert wrong_imports(layer, source) == found


def test_no_folder_hides_a_public_name() -> None:
    """A folder with the name of a public function would replace it as soon as one of its modules is imported."""
    assert not {path.name.removesuffix(".py") for path in ROOM.iterdir()} & {*agvent.spark.__all__}


def test_public_names_are_functions_and_classes() -> None:
    """Each name of `agvent.spark.__all__` is there, and none is a module."""
    found = {name: getattr(agvent.spark, name) for name in agvent.spark.__all__}
    assert not [name for name, value in found.items() if isinstance(value, ModuleType) or not callable(value)]
