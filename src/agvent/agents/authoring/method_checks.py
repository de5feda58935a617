"""What the sandbox cannot run, found in the text of a method before anybody publishes it.

Each entry was tried in pydantic-monty 1.4.0; tests/unit/sandbox holds both sides: what is refused here fails there,
and what passes here runs there.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Iterator
from types import FunctionType
from typing import Final, NoReturn
from weakref import WeakKeyDictionary

from agvent.agents.authoring.purity import changed_by, lasting
from agvent.errors import ProgramError

REFUSED: Final[dict[type[ast.AST], tuple[str, str]]] = {
    ast.Yield: ("yield", "collect the values in a list and return it"),
    ast.YieldFrom: ("yield from", "collect the values in a list and return it"),
    ast.Delete: ("del", "build a list or dict without the element, or use pop()"),
    ast.Global: ("global", "pass the value as an argument: a behaviour has no state but the agvent's"),
    ast.AsyncFunctionDef: ("async def", "write def: a behaviour waits for nothing"),
    ast.Await: ("await", "a behaviour waits for nothing"),
    ast.AsyncFor: ("async for", "write for"),
    ast.AsyncWith: ("async with", "a behaviour waits for nothing"),
    ast.TryStar: ("except*", "write except"),
    ast.ClassDef: ("a class inside a method", "use a dict or a tuple"),
    ast.Import: ("import inside a method", "import at the top of the file: what a method names travels along"),
    ast.ImportFrom: ("import inside a method", "import at the top of the file: what a method names travels along"),
}
"""Syntax that the sandbox has not, or that would make a behaviour impure, and what to write instead."""

IMPURE: Final = {
    "eval": "write the expression itself",
    "exec": "write the code itself",
    "open": "give the agvent a field with the content: there are no files",
    "print": "return the value: nobody reads what a behaviour prints",
    "input": "use a parameter",
    "id": "compare values: objects have other ids in every sandbox",
    "hash": "compare values: hashes differ between sandboxes",
    "locals": "name the variables",
    "setattr": "make a new value: an agvent does not change",
}
"""Functions that Python has and a behaviour may not call."""


_texts: WeakKeyDictionary[FunctionType, str] = WeakKeyDictionary()


def text_of(function: FunctionType, whose: str) -> str:
    """The text of a function as it was written, indentation and all: as it stood when it was first asked for, for a
    method when its class was defined. A file may change later."""
    if function not in _texts:
        _texts[function] = _text(function, whose)
    return _texts[function]


def _text(function: FunctionType, whose: str) -> str:
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise ProgramError(
            f"{whose}: its text cannot be found", hint="write the class in a file: code travels as its text"
        )
    return "".join(inspect.getblock(lines[code.co_firstlineno - 1 :]))


def tree_of(function: FunctionType, whose: str) -> ast.FunctionDef:
    """A function's syntax tree, with the line numbers of its file."""
    text = text_of(function, whose)
    # Indentation stays, or a text of several lines in it would change: a method is read as the body of an `if`.
    tree = ast.parse(f"if True:\n{text}" if text[0].isspace() else f"\n{text}")
    ast.increment_lineno(tree, function.__code__.co_firstlineno - 2)
    found = tree.body[0].body[0] if isinstance(tree.body[0], ast.If) else tree.body[0]
    if not isinstance(found, ast.FunctionDef):
        raise ProgramError(
            f"{whose} is not a def", line=function.__code__.co_firstlineno, hint="write def name(self): …"
        )
    return found


def line_of(cls: type, field: str) -> int:
    """The line where a class annotates a field; 0 if its text cannot be found."""
    try:
        lines, first = inspect.getsourcelines(cls)
    except (OSError, TypeError):
        return 0
    text = "".join(lines)
    for node in ast.walk(ast.parse(f"if True:\n{text}" if text[0].isspace() else f"\n{text}")):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == field:
            return first + node.lineno - 2
    return 0


def check_method(owner: str, function: FunctionType) -> None:
    """Refuses a method that the sandbox cannot run, with the line and what to write instead."""
    whose = f"{owner}.{function.__name__}"
    tree = tree_of(function, whose)
    if function.__name__.startswith("__"):
        raise ProgramError(
            f"{whose}: methods of that form are Python's own", line=tree.lineno, hint="give it a plain name"
        )
    if tree.args.posonlyargs:
        raise ProgramError(
            f"{whose} has a / among its parameters", line=tree.lineno, hint="leave it out: callers may name arguments"
        )
    if not tree.args.args:
        raise ProgramError(f"{whose} has no self", line=tree.lineno, hint=f"write def {function.__name__}(self, …)")
    check_tree(whose, tree, tree.args.args[0].arg)


def check_tree(whose: str, tree: ast.FunctionDef, self: str = "") -> None:
    """Refuses what the sandbox cannot run in a function; `self` is the name of the agvent in it."""
    if tree.decorator_list:
        raise ProgramError(f"{whose} has a decorator", line=tree.lineno, hint="write what it does inside the method")
    kept = lasting(tree)
    for node in ast.walk(tree):
        line = getattr(node, "lineno", tree.lineno)
        for what, hint in _refused(node, self):
            raise ProgramError(f"{whose}: the sandbox does not run {what}", line=line, hint=hint)
        root, changed = changed_by(node)
        if changed is not None and (root in kept or (root == self and not isinstance(changed, ast.Name))):
            refuse_change(whose, changed, line)


def refuse_change(whose: str, changed: ast.expr, line: int) -> NoReturn:
    """Refuses that a call changes what other calls see."""
    text = ast.unparse(changed)
    raise ProgramError(
        f"{whose} changes {text}, which other calls see", line=line, hint=f"change a copy: list({text}), dict({text})"
    )


def _refused(node: ast.AST, self: str) -> Iterator[tuple[str, str]]:
    if type(node) in REFUSED:
        yield REFUSED[type(node)]
    elif isinstance(node, ast.Name):
        if node.id in IMPURE and isinstance(node.ctx, ast.Load):
            yield f"{node.id}()", IMPURE[node.id]
        elif node.id.startswith("__"):
            yield node.id, "give it a plain name"
    elif isinstance(node, ast.Attribute):
        if node.attr.startswith("__"):
            yield f".{node.attr}", "use a name with one underscore"
        elif isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name) and node.value.id == self:
            yield f"{self}.{node.attr} = …", "use a variable: an agvent does not change"
    elif type(node).__name__ in ("TypeAlias", "TemplateStr"):
        yield f"{type(node).__name__}", "leave it out"
