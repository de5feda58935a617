"""`import agvent`: few names, quickly."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import agvent

NAMES_MAX = 27
IMPORT_S_MAX = 0.3


def in_a_new_process(program: str) -> str:
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return run.stdout.strip()


def test_import_is_quick() -> None:
    """`import agvent` takes at most 0.3 s: the best of three, because the machine has other work."""
    program = "import time; start = time.perf_counter(); import agvent; print(time.perf_counter() - start)"
    assert min(float(in_a_new_process(program)) for _ in range(3)) <= IMPORT_S_MAX


@pytest.mark.parametrize(
    "first", ["import agvent", "import agvent.cli.main", "import agvent; agvent.parse('a = 1', 'sql')"]
)
def test_heavy_libraries_wait_for_the_matcher(first: str) -> None:
    """NumPy, Numba and pyarrow are imported neither by the front door, nor by the command line, nor by a parser."""
    program = f"{first}; import sys; print(sorted({{'numpy', 'numba', 'pyarrow'}} & sys.modules.keys()))"
    assert in_a_new_process(program) == "[]"


def test_names_are_few_and_all_there() -> None:
    """The front door has at most 27 names; each is the object of its own home, and `dir` shows it."""
    assert len(agvent.__all__) <= NAMES_MAX
    for name in agvent.__all__:
        found = getattr(agvent, name)
        assert found is getattr(import_module(found.__module__), name)
        assert name in dir(agvent)


def test_typing_and_run_time_agree() -> None:
    """What `from agvent import *` gives is what the type checker is told: the names of __all__, in order."""
    scope: dict[str, object] = {}
    exec("from agvent import *", scope)
    assert sorted(scope.keys() - {"__builtins__"}) == agvent.__all__
    assert not any(isinstance(value, ModuleType) for name, value in scope.items() if name != "__builtins__")


def test_an_unknown_name_is_an_attribute_error() -> None:
    """A name that is not there fails as it does in any module."""
    with pytest.raises(AttributeError, match="module 'agvent' has no attribute 'Broker'"):
        getattr(agvent, "Broker")  # noqa: B009
