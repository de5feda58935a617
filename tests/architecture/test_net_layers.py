"""The layers of `net/`: link, then client and server beside each other, then fleet."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

NET = Path(__file__).parents[2] / "src" / "agvent" / "net"

BELOW: dict[str, set[str]] = {
    "link": set(),
    "client": {"link"},
    "server": {"link"},
    "fleet": {"link", "client", "server"},
}
"""Which layers each layer may import, beside itself. Client and server meet only on the wire."""


def layers_imported(source: str) -> Iterator[str]:
    """Every layer of `net` that a file imports, inside functions and for type checking too."""
    for node in ast.walk(ast.parse(source)):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        for module in modules:
            match module.split("."):
                case ["agvent", "net", layer, *_]:
                    yield layer


def upward_imports(layer: str, source: str) -> list[str]:
    return [found for found in layers_imported(source) if found not in BELOW[layer] | {layer}]


FILES = sorted(NET.glob("*/*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(NET)))
def test_layers_of_net_point_down(file: Path) -> None:
    """A file of a layer imports only its own layer and those below it."""
    assert upward_imports(file.parent.name, file.read_text()) == []


def test_every_file_of_net_is_in_a_layer() -> None:
    """Only the docstring of the room stands above the layers."""
    assert sorted(path.name for path in NET.glob("*.py")) == ["__init__.py"]
    assert {file.parent.name for file in FILES} == BELOW.keys()


@pytest.mark.parametrize(
    ("layer", "source", "found"),
    [
        ("link", "from agvent.net.client.client import Client", ["client"]),
        ("client", "from agvent.net.server.config import Config", ["server"]),
        ("server", "def f():\n    from agvent.net.client import client", ["client"]),
        ("server", "import agvent.net.fleet.fleet", ["fleet"]),
        ("fleet", "from agvent.net.client.script import LoopThread\nfrom agvent.net.server.server import S", []),
        ("client", "from agvent.net.link.address import Address\nfrom agvent.session.session import Session", []),
    ],
)
def test_an_upward_import_inside_net_is_seen(layer: str, source: str, found: list[str]) -> None:
    """The check sees imports of every form, and leaves the allowed ones alone."""
    assert upward_imports(layer, source) == found
