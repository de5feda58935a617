"""Behaviours are pure: no call sees what another one changed.

A change that can be seen in the text of a method, of a field or of a constant, is refused when the class is defined or
advertised. One that goes by another name is made to a copy: a program in which anything changes at all is given a state
of its own for each call. Most have nothing of the kind, and their calls share one.
"""

from __future__ import annotations

import ast
import re
from typing import Any, Final

CHANGING: Final = (
    "add", "append", "appendleft", "clear", "difference_update", "discard", "extend", "extendleft", "insert",
    "intersection_update", "pop", "popitem", "popleft", "remove", "reverse", "rotate", "setdefault", "sort",
    "subtract", "symmetric_difference_update", "update",
)  # fmt: skip
"""Methods of Python's own types that change what they are called on."""

_CHANGES: Final = re.compile(
    rf"\.(?:{'|'.join(CHANGING)})\b"
    r"|insort|getattr"  # of bisect; and what has a method by its name
    r"|[-+*&|^]="  # x += […]
)

Made = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp | ast.Call
"""Expressions whose value something may change."""


def may_change(source: str) -> bool:
    """May anything in a program change a list, an object or a set? Read off its text, in time that grows with its
    length: a stranger wrote it, so nothing of it is parsed here."""
    is_assigned = any("]" in line.rpartition(" = ")[0] for line in source.splitlines())  # x[0] = …
    return is_assigned or _CHANGES.search(source) is not None


def copied(value: Any) -> Any:
    """A value that shares no list and no object with this one."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return tuple(copied(item) for item in value) if isinstance(value, tuple) else value


def is_shared(value: Any) -> bool:
    """Has it something that a program could change?"""
    if isinstance(value, tuple):
        return any(map(is_shared, value))
    return isinstance(value, (list, dict))


def changed_by(node: ast.AST) -> tuple[str, ast.expr | None]:
    """The name at the root of what a node changes, and what it changes: `self` and `self._seen` of
    `self._seen[0].append(1)`. No name and None if it changes nothing that has one."""
    match node:
        case ast.Call(ast.Attribute(what, attr)) if attr in CHANGING:
            pass
        case ast.Call(ast.Name(attr) | ast.Attribute(_, attr), [what, *_]) if attr.startswith("insort"):
            pass
        case ast.Subscript(what, _, ast.Store()):
            pass
        case _:
            return "", None
    root: ast.expr = what
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    return (root.id, what) if isinstance(root, ast.Name) else ("", None)


def lasting(tree: ast.FunctionDef) -> set[str]:
    """The parameters whose default is made once, for all calls, as long as the function gives them no other value."""
    args = tree.args
    places = [*args.posonlyargs, *args.args]
    pairs = [*zip(reversed(places), reversed(args.defaults), strict=False)]
    pairs += [(place, made) for place, made in zip(args.kwonlyargs, args.kw_defaults, strict=True) if made is not None]
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return {place.arg for place, default in pairs if isinstance(default, Made)} - stored
