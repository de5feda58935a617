"""What a method names outside itself, and how that travels along: constants, functions, imports."""

from __future__ import annotations

import ast
import builtins
import symtable
from datetime import UTC, datetime
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any, Final

from agvent.agents.authoring.agvent import Agvent
from agvent.agents.authoring.dialect import NAMES, check_dialect, hint_of
from agvent.agents.authoring.method_checks import check_tree, refuse_change, tree_of
from agvent.agents.authoring.purity import changed_by
from agvent.errors import ProgramError

BUILTINS: Final = frozenset(
    (
        "ArithmeticError", "AssertionError", "AttributeError", "Exception", "False", "IndexError", "KeyError",
        "LookupError", "None", "NotImplementedError", "OverflowError", "RuntimeError", "StopIteration", "True",
        "TypeError", "ValueError", "ZeroDivisionError", "abs", "all", "any", "bin", "bool", "bytes", "chr",
        "dict", "divmod", "enumerate", "filter", "float", "format", "frozenset", "getattr", "hasattr", "hex",
        "int", "isinstance", "iter", "len", "list", "map", "max", "min", "next", "oct", "ord", "pow", "range",
        "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple", "type", "zip",
    )
)  # fmt: skip
"""Python's own names that the sandbox has too."""

INSTEAD: Final = {
    "callable": "call it inside try",
    "bytearray": "use bytes",
    "issubclass": "use isinstance",
    "vars": "name the fields",
    "dir": "name the fields",
    "super": "write super().method(…)",
}
"""What to write for names that it has not."""


TIME: Final = "_agvent_datetime"
"""The name under which a program with timestamps among its constants has the class."""


class Luggage:
    """The lines that stand above a program's class: imports, constants and functions that its methods name."""

    def __init__(self, owner: str, members: set[str]) -> None:
        self.owner, self.members = owner, members
        self.imports: dict[str, str] = {}
        self.constants: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self._packed: dict[str, Any] = {}

    def text(self) -> str:
        """All of it, in an order that depends on the names only."""
        parts = (self.imports, self.constants, self.functions)
        return "".join(f"{part[name]}\n" for part in parts for name in sorted(part))

    def pack(self, function: FunctionType, tree: ast.FunctionDef) -> None:
        """Takes along whatever the function names that is not its own."""
        found: dict[str, Any] = {}
        for name in sorted(free_names(tree)):
            known, value = _lookup(function, name)
            found[name] = value if known else getattr(builtins, name, None)
            if not known and name in BUILTINS:
                continue
            if not known:
                self._refuse(function, tree, name, "which the sandbox does not have", INSTEAD.get(name))
            if name in self._packed and self._packed[name] is not value:
                self._refuse(function, tree, name, "which is something else in another method", "rename one")
            if isinstance(value, (list, dict, set)):
                self._check_unchanged(function, tree, name)
            if name not in self._packed:
                self._packed[name] = value
                self._add(name, value, function, tree)
        check_dialect(f"{self.owner}.{function.__name__}", tree, found, self.members)

    def _check_unchanged(self, function: FunctionType, tree: ast.FunctionDef, name: str) -> None:
        """A constant is one for all calls."""
        for node in ast.walk(tree):
            root, changed = changed_by(node)
            if changed is not None and root == name:
                refuse_change(f"{self.owner}.{function.__name__}", changed, getattr(node, "lineno", tree.lineno))

    def _add(self, name: str, value: Any, function: FunctionType, tree: ast.FunctionDef) -> None:
        if value is UTC:
            self.imports["timezone"] = "from datetime import timezone"
            self.constants[name] = f"{name} = timezone.utc"
        elif isinstance(value, ModuleType) and value.__name__ in NAMES:
            self.imports[name] = f"import {value.__name__} as {name}"
        elif (source := _source_of(name, value)) is not None:
            module, own = source
            if own not in NAMES[module]:
                self._refuse(function, tree, name, "which the sandbox does not have", hint_of(module, own))
            self.imports[name] = f"from {module} import {own} as {name}"
        elif isinstance(value, FunctionType):
            whose = f"{self.owner}: {name}()"
            carried = tree_of(value, whose)
            check_tree(whose, carried)
            self.functions[name] = ast.unparse(bare(carried, name))
            self.pack(value, carried)
        elif (text := literal(value)) is not None:
            self.constants[name] = f"{name} = {text}"
        else:
            what = f"which is a {type(value).__name__} and cannot travel along"
            hint = f"use values, functions of the module, and {', '.join(NAMES)}"
            if isinstance(value, type) and issubclass(value, Agvent):
                hint = "write super().method(…) for a method of an ancestor: the sandbox has no inheritance"
            self._refuse(function, tree, name, what, hint)

    def _refuse(self, function: FunctionType, tree: ast.FunctionDef, name: str, what: str, hint: str | None) -> None:
        lines = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name]
        raise ProgramError(
            f"{self.owner}.{function.__name__} names {name}, {what}", line=min(lines, default=tree.lineno), hint=hint
        )


def bare(tree: ast.FunctionDef, name: str) -> ast.FunctionDef:
    """A function under this name, without docstring and annotations: they are for people, and in the type."""
    tree.name, tree.returns = name, None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = _without_docstring(node.body)
    unannotated: ast.FunctionDef = _Unannotated().visit(tree)
    return ast.fix_missing_locations(unannotated)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body[0]:
        case ast.Expr(ast.Constant(str())):
            return body[1:] or [ast.Pass()]
    return body


class _Unannotated(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)


def free_names(tree: ast.FunctionDef) -> set[str]:
    """The names that a function takes from around it, its inner functions' included."""
    tables = [symtable.symtable(ast.unparse(bare(tree, tree.name)), "agvent", "exec")]
    found: set[str] = set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        is_outer = table.get_type() == "module"  # where the defaults of parameters are
        found |= {
            one.get_name()
            for one in table.get_symbols()
            if one.is_referenced() and (not one.is_assigned() if is_outer else one.is_global())
        }
    return found


def _lookup(function: FunctionType, name: str) -> tuple[bool, Any]:
    """Is there such a name where the function was written, other than Python's own? And what it is."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if name in cells:
        return True, cells[name].cell_contents
    value = function.__globals__.get(name, builtins)
    return (False, None) if value is builtins else (True, value)


def _source_of(name: str, value: Any) -> tuple[str, str] | None:
    """The module that a method may use and that has this, and its name there; None if none has it."""
    for module in NAMES:
        of_module = getattr(value, "__module__", None) in (module, f"_{module}")
        own = getattr(value, "__name__", name)
        if of_module and getattr(import_module(module), own, None) is value:
            return module, own
    return None


def literal(value: Any) -> str | None:
    """A value as an expression; None if it has none."""
    if value is None or type(value) in (bool, int, str, bytes):
        return repr(value)
    if type(value) is float:
        return repr(value) if value == value and abs(value) != float("inf") else f'float("{value}")'
    if type(value) is datetime:
        return f"{TIME}.fromisoformat({value.isoformat()!r})" if value.tzinfo is not None else None
    if type(value) is dict:
        pairs = [(literal(key), literal(item)) for key, item in value.items()]
        return None if any(None in pair for pair in pairs) else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
    if type(value) not in (list, tuple, set, frozenset):
        return None
    items = [literal(item) for item in (sorted(value, key=repr) if isinstance(value, (set, frozenset)) else value)]
    if any(item is None for item in items):
        return None
    inner = ", ".join(item for item in items if item is not None)
    if isinstance(value, list):
        return f"[{inner}]"
    if isinstance(value, tuple):
        return f"({inner}{',' if len(items) == 1 else ''})"
    return f"{type(value).__name__}([{inner}])"
