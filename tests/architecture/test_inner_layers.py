"""The layers inside a room: its `__init__.py` draws them, and each imports only from the ones below it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.architecture.test_rooms import SOURCE, modules_imported

LAYERS: dict[str, dict[str, set[str]]] = {
    "broker": {
        "records": set(),
        "interface": {"records"},
        "notices": {"records"},
        "outbox": {"records", "interface", "notices"},
        "tables": {"records", "notices"},
        "soundness": {"tables"},
        "pending": {"records", "interface", "outbox", "tables"},
        "prefetch": {"interface", "tables"},
        "routing": {"outbox"},
        "events": {"records", "interface", "notices", "outbox", "tables", "pending", "prefetch", "routing"},
        "interest": {"records", "interface", "notices", "outbox", "tables", "pending", "routing", "events"},
        "clients": {"records", "notices", "outbox", "tables", "pending", "prefetch", "routing", "events", "interest"},
        "broker": {
            "records",
            "interface",
            "notices",
            "outbox",
            "tables",
            "soundness",
            "pending",
            "prefetch",
            "routing",
            "events",
            "interest",
            "clients",
        },
        "value": {"broker"},
    },
    "matching": {
        "columns": set(),
        "rows": {"columns"},
        "index": {"columns", "rows"},
        "encoders": {"columns"},
        "matches": {"columns"},
        "subscriptions": {"columns", "rows", "index", "encoders", "matches"},
        "prepare": {"subscriptions"},
    },
    "agents": {
        "secrecy": set(),
        "travel": set(),
        "authoring": {"secrecy"},
        "execution": {"secrecy", "travel", "authoring"},
    },
}
"""For each room its layers, lowest first, and what each may import of the room beside itself."""


def sideways_imports(room: str, layer: str, source: str) -> list[str]:
    """The modules of its own room that a file of this layer imports and may not."""
    prefix = f"agvent.{room}."
    may = LAYERS[room][layer] | {layer}
    ours = [module for module in modules_imported(ast.parse(source)) if module.startswith(prefix)]
    return [module for module in ours if module.removeprefix(prefix).split(".")[0] not in may]


def layer_of(file: Path, room: str) -> str:
    return file.relative_to(SOURCE / room).parts[0].removesuffix(".py")


FILES = [
    (room, file)
    for room in LAYERS
    for file in sorted((SOURCE / room).rglob("*.py"))
    if layer_of(file, room) != "__init__"
]


@pytest.mark.parametrize(("room", "file"), FILES, ids=lambda value: value if isinstance(value, str) else value.stem)
def test_layers_import_downwards(room: str, file: Path) -> None:
    """A file imports only from its own layer and the layers below it."""
    assert sideways_imports(room, layer_of(file, room), file.read_text()) == []


@pytest.mark.parametrize("room", LAYERS)
def test_every_layer_is_in_the_table(room: str) -> None:
    """A room has exactly the layers of the table."""
    assert {layer_of(file, room) for owner, file in FILES if owner == room} == LAYERS[room].keys()


@pytest.mark.parametrize("room", LAYERS)
def test_the_room_draws_its_layers(room: str) -> None:
    """The docstring of a room names its layers in the order of the table."""
    text = ast.get_docstring(ast.parse((SOURCE / room / "__init__.py").read_text())) or ""
    drawn = [line.split()[0] for line in text.splitlines() if line.startswith("    ")]
    folders = [layer for layer in LAYERS[room] if (SOURCE / room / layer).is_dir()]
    assert [layer for layer in drawn if layer in folders] == folders


@pytest.mark.parametrize("room", LAYERS)
def test_the_order_has_no_cycle(room: str) -> None:
    """A layer may import only layers that stand before it in the table."""
    order = list(LAYERS[room])
    assert [
        (layer, below) for layer in order for below in LAYERS[room][layer] if below not in order[: order.index(layer)]
    ] == []


@pytest.mark.parametrize(
    ("room", "layer", "source", "found"),
    [
        ("broker", "tables", "from agvent.broker.events import home", ["agvent.broker.events.home"]),
        ("broker", "events", "import agvent.broker.interest.streams", ["agvent.broker.interest.streams"]),
        ("broker", "clients", "from agvent.broker.tables.tables import Tables", []),
        ("matching", "columns", "from agvent.matching.rows.like import like", ["agvent.matching.rows.like.like"]),
        ("matching", "encoders", "import agvent.matching.index.kernel", ["agvent.matching.index.kernel"]),
        ("matching", "rows", "def f():\n    from agvent.matching import index", ["agvent.matching.index"]),
        ("agents", "authoring", "from agvent.agents.travel import stop", ["agvent.agents.travel.stop"]),
        ("agents", "execution", "from agvent.agents.travel import stop\nfrom agvent.wire.codec import framed", []),
    ],
)
def test_an_import_against_the_order_is_seen(room: str, layer: str, source: str, found: list[str]) -> None:
    """The check sees an upward or sideways import of every form, and leaves the allowed ones alone."""
    assert sideways_imports(room, layer, source) == found
