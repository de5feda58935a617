"""From a class to its program: methods without their bases, in Python's own order of inheritance.

The sandbox has no inheritance. A class gets the methods of its ancestors; where one calls `super().price(n)`, the
method that Python would have called stands in the program under the name `_Ancestor_price`.
"""

from __future__ import annotations

import ast
import inspect
from difflib import get_close_matches
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from agvent.agents.authoring.agvent import Agvent, Secrecy, methods_of
from agvent.agents.authoring.method_checks import check_method, tree_of
from agvent.agents.authoring.program import Program, Signature
from agvent.agents.authoring.references import TIME, Luggage, bare, literal
from agvent.errors import ProgramError

_made: WeakKeyDictionary[type[Agvent], Program] = WeakKeyDictionary()


def program_of(cls: type[Agvent]) -> Program:
    """The portable program of a class. What it names is taken as it is when the program is first asked for."""
    if cls not in _made:
        _made[cls] = _program(cls)
    return _made[cls]


def _program(cls: type[Agvent]) -> Program:
    methods, flattened = methods_of(cls), _Flattened(cls)
    return Program(
        type=cls.__name__,
        source=flattened.text(),
        behaviours=tuple(_signature(cls, one.name, one.returns, methods) for one in cls.__agvent_behaviours__),
        reads=tuple(sorted(flattened.reads)),
        arrives="arrive" in methods,
        routes="route" in methods,
    )


def _signature(cls: type[Agvent], name: str, returns: str, methods: dict[str, FunctionType]) -> Signature:
    if name not in methods:
        return Signature(name, returns, opaque=True)
    advertised = next(one for one in cls.__agvent_behaviours__ if one.name == name)
    parameters = list(inspect.signature(methods[name]).parameters.values())[1:]
    required = sum(parameter.default is parameter.empty for parameter in parameters)
    return Signature(name, returns, tuple(one.kind for one in advertised.parameters), required)


class _Flattened:
    """One class and what it inherits, as the text of one class."""

    def __init__(self, cls: type[Agvent]) -> None:
        self.cls = cls
        self.ancestry = [one for one in cls.__mro__ if one not in (object, Agvent)]
        self.constants = self._constants()
        self.members = {*cls.__agvent_fields__, *methods_of(cls), *self.constants}
        self.luggage = Luggage(cls.__name__, self.members)
        self.readable = {one.name for one in cls.__agvent_fields__.values() if one.secrecy is not Secrecy.SEALED}
        self.reads = {one.name for one in cls.__agvent_fields__.values() if one.secrecy is Secrecy.OPAQUE}
        self.methods: dict[str, ast.FunctionDef] = {}  # by the name under which the program has it

    def text(self) -> str:
        """Imports, constants and functions, then the class."""
        for name in methods_of(self.cls):
            self._add(self._owner(name, self.ancestry), name, name)
        body = ast.parse("\n".join(f"{name} = {text}" for name, text in sorted(self.constants.items()))).body
        body += [self.methods[name] for name in sorted(self.methods)]
        whole = ast.parse(f"class {self.cls.__name__}:\n    pass")
        if body:
            whole.body[0].body = body  # type: ignore[attr-defined]
        text = f"{self.luggage.text()}{ast.unparse(whole)}\n"
        return f"from datetime import datetime as {TIME}\n{text}" if f"{TIME}." in text else text

    def _constants(self) -> dict[str, str]:
        """Values that the class or an ancestor has beside its fields and methods."""
        found: dict[str, Any] = {}
        for one in reversed(self.ancestry):
            found |= {name: value for name, value in vars(one).items() if not name.startswith("__")}
        plain = {
            name: literal(value)
            for name, value in found.items()
            if not isinstance(value, FunctionType) and name not in self.cls.__agvent_fields__
        }
        for name, text in plain.items():
            if text is None:
                raise ProgramError(
                    f"{self.cls.__name__}.{name} is a {type(found[name]).__name__} and cannot travel along",
                    hint="a constant is a number, text, bytes, a datetime with a zone, or a list, set or dict of them",
                )
        return {name: text for name, text in plain.items() if text is not None}

    def _owner(self, name: str, classes: list[type]) -> type | None:
        return next((one for one in classes if isinstance(vars(one).get(name), FunctionType)), None)

    def _add(self, owner: type | None, name: str, called: str) -> None:
        """Adds the method of an owner under the name by which the program calls it."""
        if called in self.methods or owner is None:
            return
        function: FunctionType = vars(owner)[name]
        check_method(owner.__name__, function)  # a mixin that is no Agvent was not checked when it was defined
        tree = tree_of(function, f"{owner.__name__}.{name}")
        self.methods[called] = tree  # named already, so that a method that reaches itself through super() ends here
        flattened = _Super(self, owner, tree).visit(tree)
        self._check_members(owner, tree)
        self.luggage.pack(function, flattened)
        self.methods[called] = bare(flattened, called)

    def inherited(self, owner: type, name: str, line: int) -> str:
        """The name under which the program has what `super().name` means in a method of the owner's."""
        after = self.ancestry[self.ancestry.index(owner) + 1 :]
        found = self._owner(name, after)
        if found is None:
            raise ProgramError(
                f"{owner.__name__}: super().{name} is not there",
                line=line,
                hint="no ancestor has such a method",
            )
        alike = [one for one in self.ancestry if one.__name__ == found.__name__]
        called = f"_{found.__name__}{alike.index(found) or ''}_{name}"
        self._add(found, name, called)
        return called

    def _check_members(self, owner: type, tree: ast.FunctionDef) -> None:
        """Every `self.name` is a field, a method or a constant, and none that the sandbox cannot read. Where `self` is
        handed on, as to getattr, any field may be read."""
        self_name = tree.args.args[0].arg
        uses = sum(isinstance(node, ast.Name) and node.id == self_name for node in ast.walk(tree))
        found = [
            node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == self_name
        ]
        self.reads |= self.readable if uses > len(found) else {node.attr for node in found} & self.readable
        for node in found:
            whose = f"{owner.__name__}.{tree.name}: {self_name}.{node.attr}"
            if node.attr not in self.members and node.attr not in self.methods:
                near = get_close_matches(node.attr, self.members, 1)
                hint = f"did you mean {near[0]}?" if near else f"{self.cls.__name__} has no such member"
                raise ProgramError(f"{whose} is not there", line=node.lineno, hint=hint)
            field = self.cls.__agvent_fields__.get(node.attr)
            if field is not None and field.secrecy is Secrecy.SEALED:
                hint = "hidden fields (with an underscore) are for methods; sealed ones for admitted subscribers"
                raise ProgramError(f"{whose} is sealed: no sandbox reads it", line=node.lineno, hint=hint)


class _Super(ast.NodeTransformer):
    """`super().name` becomes `self._Ancestor_name`."""

    def __init__(self, flattened: _Flattened, owner: type, tree: ast.FunctionDef) -> None:
        self.flattened, self.owner, self.self_name = flattened, owner, tree.args.args[0].arg

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node.value) == "super()":
            called = self.flattened.inherited(self.owner, node.attr, node.lineno)
            return ast.copy_location(ast.Attribute(ast.Name(self.self_name, ast.Load()), called, ast.Load()), node)
        return self.generic_visit(node)
