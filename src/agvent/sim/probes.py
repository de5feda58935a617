"""Probes: says which branches of the broker, the session, the link and the journal were taken.

An import hook puts a call at the head of each function, branch, loop, handler and case, before what is evaluated only
sometimes (`a if c else b`, `a or b`), and before each element of a comprehension. A call adds a number to a set, which
costs a run about a quarter of its time; tracing lines would make it ten times as slow. The hook must be there before
these modules are imported, so covered.py is a process of its own. This module imports nothing of the package.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from pkgutil import iter_modules
from types import CodeType, ModuleType
from typing import Any, Final

ROOMS: Final = ("broker", "session", "wire.link", "store.journal")
"""What is probed, below the package."""

LEFT_OUT: Final = "agvent.broker.value"
"""It shows and compares brokers, for people and judges."""

PACKAGE: Final = Path(__file__).parent.parent
MET: Final = "_branch_met"

BRANCHES: list[str] = []
"""The branches of the probed modules that were imported, by number: file, line, and how it is entered."""

met: set[int] = set()
"""The numbers of those that were taken."""


def install() -> None:
    """From now on the rooms are imported with probes; now, all of them."""
    sys.meta_path.insert(0, _Finder())
    for room in ROOMS:
        folder, _, prefix = f"agvent.{room}".rpartition(".")
        path = PACKAGE.joinpath(*folder.split(".")[1:])
        for name in sorted(module.name for module in iter_modules([str(path)]) if module.name.startswith(prefix)):
            _import_all(f"{folder}.{name}")


def _import_all(name: str) -> None:
    module = import_module(name)
    for found in iter_modules(getattr(module, "__path__", ())):
        _import_all(f"{name}.{found.name}")


class _Finder(MetaPathFinder):
    """Finds the modules of the rooms as usual, and lets them be loaded with probes."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == LEFT_OUT or not fullname.startswith(tuple(f"agvent.{room}" for room in ROOMS)):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Compiles with probes, and leaves no bytecode behind."""

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(Path(self.path).read_bytes(), self.path)
        probed = ast.fix_missing_locations(_Probes(Path(self.path).relative_to(PACKAGE).as_posix()).visit(tree))
        code: CodeType = compile(probed, self.path, "exec", dont_inherit=True)
        return code

    def exec_module(self, module: ModuleType) -> None:
        setattr(module, MET, met.add)
        super().exec_module(module)


class _Probes(ast.NodeTransformer):
    """Puts the calls in."""

    def __init__(self, file: str) -> None:
        self.file = file

    def _call(self, at: ast.AST, how: str) -> ast.Call:
        BRANCHES.append(f"{self.file}:{getattr(at, 'lineno', 0)} {how}")
        return ast.Call(ast.Name(MET, ast.Load()), [ast.Constant(len(BRANCHES) - 1)], [])

    def _body(self, body: list[ast.stmt], how: str, at: ast.AST | None = None) -> list[ast.stmt]:
        """With a call at its head, after a docstring."""
        call: ast.stmt = ast.Expr(self._call(at or body[0], how))
        first = body[0] if body else None
        is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        return [*body[:1], call, *body[1:]] if is_doc else [call, *body]

    def _value(self, value: ast.expr, how: str) -> ast.expr:
        """The call gives None, so the value is what it was."""
        call = self._call(value, how)
        return ast.copy_location(ast.BoolOp(ast.Or(), [call, value]), value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.body = self._body(node.body, f"def {node.name}", node)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return node
        condition = ast.unparse(node.test)[:60]
        self.generic_visit(node)
        node.body = self._body(node.body, f"if {condition}", node)
        node.orelse = self._body(node.orelse, f"else of {condition}", node)
        return node

    def _loop(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.body = self._body(node.body, "loop", node)
        return node  # type: ignore[no-any-return]

    visit_For = _loop  # noqa: N815 - as ast names it
    visit_While = _loop  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        self.generic_visit(node)
        node.body = self._body(node.body, f"except {ast.unparse(node.type) if node.type else ''}", node)
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        self.generic_visit(node)
        node.body = self._body(node.body, f"case {ast.unparse(node.pattern)[:60]}", node.pattern)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        condition = ast.unparse(node.test)[:60]
        self.generic_visit(node)
        node.body = self._value(node.body, f"if {condition}")
        node.orelse = self._value(node.orelse, f"else of {condition}")
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        word = "and" if isinstance(node.op, ast.And) else "or"
        parts = [ast.unparse(value)[:60] for value in node.values]
        self.generic_visit(node)
        rest = [self._value(value, f"{word} {part}") for value, part in zip(node.values[1:], parts[1:], strict=True)]
        node.values = [node.values[0], *rest]
        return node

    def _comprehension(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._value(node.elt, "an element")
        return node  # type: ignore[no-any-return]

    visit_ListComp = _comprehension  # noqa: N815
    visit_SetComp = _comprehension  # noqa: N815
    visit_GeneratorExp = _comprehension  # noqa: N815

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations are left alone."""
        if node.value is not None:
            node.value = self.visit(node.value)
        return node
