"""The rooms of docs/architecture.md: imports point down, and the pure rooms touch nothing outside the process."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "agvent"

BELOW: dict[str, set[str]] = {
    "errors": set(),
    "limits": set(),
    "xml": {"errors", "limits"},
    "event": {"xml"},
    "event_json": {"event"},
    "elvin": {"event"},
    "types": {"event"},
    "filters": {"types", "event_json", "elvin"},
    "matching": {"filters"},
    "wire": {"filters"},
    "agents": {"wire"},
    "broker": {"matching", "wire", "agents"},
    "session": {"wire"},
    "store": {"matching", "wire"},
    "sample_day": {"store"},
    "chronicle": {"broker", "store"},
    "sim": {"chronicle", "session"},
    "sandbox": {"agents"},
    "net": {"chronicle", "session", "sandbox"},
    "gateways": {"net"},
    "spark": {"matching", "store", "net"},
    "web": {"net"},
    "demo": {"net", "sim", "spark"},
    "cli": {"demo", "sample_day", "front door", "gateways", "web"},
    "front door": {"matching", "store", "agents", "net"},
}
"""What each room may import, and with it what that one may. Rooms that are not built yet have their place already."""

PURE = {
    "errors",
    "limits",
    "xml",
    "event",
    "event_json",
    "elvin",
    "types",
    "filters",
    "matching",
    "agents",
    "wire",
    "broker",
    "session",
}

IMPURE_MODULES = {
    "asyncio", "concurrent", "fcntl", "glob", "http", "io", "logging", "mmap", "multiprocessing", "os", "pathlib",
    "pyarrow.csv", "pyarrow.dataset", "pyarrow.feather", "pyarrow.fs", "pyarrow.json", "pyarrow.parquet", "random",
    "resource", "rich", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "time", "urllib", "uuid",
}  # fmt: skip

IMPURE_CALLS = {"breakpoint", "input", "open", "print"}

IMPURE_NAMES = {
    "datetime.now", "datetime.today", "datetime.utcnow", "date.today", "np.fromfile", "np.load", "np.memmap",
    "np.random", "np.save", "np.savez", "numpy.random", "pa.OSFile", "pa.memory_map", "sys.argv", "sys.stderr",
    "sys.stdin", "sys.stdout", "threading.Thread", "threading.Timer",
}  # fmt: skip


def room_of(file: Path) -> str:
    top = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "front door" if top == "__init__" else top


def room_of_module(module: str) -> str:
    """`agvent.filters.tree` is in filters; `agvent.Event` is the front door's."""
    _, _, below = module.partition(".")
    top = below.split(".")[0]
    return top if top and ((SOURCE / top).is_dir() or (SOURCE / f"{top}.py").is_file()) else "front door"


def modules_imported(tree: ast.AST) -> Iterator[str]:
    """Every module an import could mean: `from a import b` may be the module a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def allowed(room: str) -> set[str]:
    reach = set(BELOW[room])
    for below in BELOW[room]:
        reach |= allowed(below)
    return reach


def upward_imports(room: str, source: str) -> list[str]:
    """The modules that a file in this room imports and may not."""
    may = allowed(room) | {room}
    ours = [module for module in modules_imported(ast.parse(source)) if module.split(".")[0] == "agvent"]
    return [module for module in ours if room_of_module(module) not in may]


def impurities(source: str) -> list[str]:
    """What a file does that a pure room may not: I/O, clocks, randomness, the environment, threads."""
    tree = ast.parse(source)
    prefixes = [".".join(m.split(".")[:n]) for m in modules_imported(tree) for n in range(1, m.count(".") + 2)]
    found = [prefix for prefix in prefixes if prefix in IMPURE_MODULES]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_CALLS:
            found.append(f"{node.func.id}()")
        elif isinstance(node, ast.Attribute) and (name := ast.unparse(node)) in IMPURE_NAMES:
            found.append(name)
    return found


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_down(file: Path) -> None:
    """A file imports only from its own room and the rooms below it."""
    assert upward_imports(room_of(file), file.read_text()) == []


@pytest.mark.parametrize(
    "file", [file for file in FILES if room_of(file) in PURE], ids=lambda file: str(file.relative_to(SOURCE))
)
def test_pure_rooms_are_pure(file: Path) -> None:
    """A pure room does no I/O, starts no thread or process and reads no clock, randomness or environment."""
    assert impurities(file.read_text()) == []


def test_every_room_is_in_the_table() -> None:
    """A new room is placed in the table before it is built."""
    assert {room_of(file) for file in FILES} <= BELOW.keys()


def test_nothing_imports_the_command_line() -> None:
    """The command line is the top: no room may reach it."""
    assert [room for room in BELOW if "cli" in allowed(room)] == []


def test_the_two_drivers_do_not_know_each_other() -> None:
    """The simulator never imports the network or the sandbox, and the network never imports the simulator."""
    assert "net" not in allowed("sim")
    assert "sandbox" not in allowed("sim")
    assert "sim" not in allowed("net")


@pytest.mark.parametrize(
    ("room", "source", "found"),
    [
        (
            "filters",
            "from agvent.matching.subscriptions import Subscriptions",
            ["agvent.matching.subscriptions.Subscriptions"],
        ),
        ("event", "import agvent.filters.tree", ["agvent.filters.tree"]),
        ("event", "from agvent import filters", ["agvent.filters"]),
        ("filters", "import agvent", ["agvent"]),
        ("filters", "from agvent import Event", ["agvent.Event"]),
        ("filters", "def f():\n    from agvent.cli import main", ["agvent.cli.main"]),
        ("matching", "from agvent import limits\nfrom agvent.filters.tree import And\nimport numpy", []),
        ("cli", "import agvent", []),
    ],
)
def test_an_upward_import_is_seen(room: str, source: str, found: list[str]) -> None:
    """The check sees imports of every form, inside functions too, and leaves the allowed ones alone."""
    assert upward_imports(room, source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import time", ["time"]),
        ("import os.path", ["os"]),
        ("from pathlib import Path", ["pathlib"]),
        ("from pyarrow import parquet", ["pyarrow.parquet"]),
        ("def f():\n    return open('x')", ["open()"]),
        ("print('x')", ["print()"]),
        ("from datetime import datetime\ndatetime.now()", ["datetime.now"]),
        ("import numpy as np\nnp.random.default_rng(1)", ["np.random"]),
        ("import threading\nthreading.Thread()", ["threading.Thread"]),
        ("import sys\nsys.stdout.write('x')", ["sys.stdout"]),
        ("import threading\nlock = threading.Lock()", []),
        ("from datetime import datetime\nimport pyarrow as pa", []),
    ],
)
def test_an_impurity_is_seen(source: str, found: list[str]) -> None:
    """The check sees each way out of a pure room, and leaves a lock or an Arrow array alone."""
    assert impurities(source) == found
