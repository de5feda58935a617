"""What an annotation says of a value: its kind, its length, whether it may be missing, its description.

The kinds are those of types.py. `tuple[float, float, float]` is a list of three; `float | None` is optional.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

from agvent.errors import ProgramError
from agvent.event import Int32

SCALARS: Final[dict[Any, str]] = {
    bool: "bool",
    int: "int",
    Int32: "int32",
    float: "float",
    str: "str",
    bytes: "bytes",
    datetime: "timestamp",
}
"""Annotations of single values."""

HINT: Final = (
    "kinds are bool, int, Int32, float, str, bytes, datetime, list[…] of these, tuple[…] of one kind, dict[str, Any], "
    "Any, and any of them | None"
)


class Kinded(NamedTuple):
    """An annotation, read. `notes` are the other things that Annotated said."""

    kind: str
    length: int = 0
    optional: bool = False
    description: str = ""
    notes: tuple[Any, ...] = ()


def hints_of(annotated: type | FunctionType, whose: str, line: int = 0) -> dict[str, Any]:
    """The annotations of a class or a function, those written as text evaluated; a ProgramError where one fails."""
    try:
        return get_type_hints(annotated, include_extras=True)
    except NameError as error:
        what = f"names {error.name}, which is not there when the class is defined"
        hint = "import it, or define it above the class"
    except (AttributeError, SyntaxError, TypeError) as error:
        what, hint = f"cannot be read: {error}", HINT
    raise ProgramError(f"{whose}: an annotation {what}", line=line, hint=hint)


def kinded(annotation: Any, whose: str, line: int = 0) -> Kinded:
    """What an annotation says; a ProgramError if it says nothing that an event can hold."""
    notes: tuple[Any, ...] = ()
    optional = False
    while get_origin(annotation) in (Annotated, Union, UnionType):
        if get_origin(annotation) is Annotated:
            annotation, *more = get_args(annotation)
            notes += tuple(more)
        else:
            inner = [one for one in get_args(annotation) if one is not NoneType]
            if len(inner) != 1 or len(get_args(annotation)) != 2:
                raise ProgramError(
                    f"{whose} may be of several kinds", line=line, hint="use one kind, or one kind | None"
                )
            annotation, optional = inner[0], True
    texts = [note for note in notes if isinstance(note, str)]
    found = _kind(annotation)
    if found is None:
        raise ProgramError(f"{whose} is annotated {annotation!r}, which no event can hold", line=line, hint=HINT)
    others = tuple(note for note in notes if not isinstance(note, str))
    return Kinded(*found, optional, " ".join(texts), others)


def _kind(annotation: Any) -> tuple[str, int] | None:
    """The kind and the fixed length of an annotation that is not optional."""
    if (scalar := _scalar(annotation)) is not None:
        return scalar, 0
    if annotation is Any:
        return "any", 0
    origin, args = get_origin(annotation), get_args(annotation)
    first = args[0] if args else None  # there is none in tuple[()] and in typing.List
    element = _scalar(first)
    if element is not None and origin is list:
        return f"list[{element}]", 0
    if element is not None and origin is tuple:
        if len(args) == 2 and args[1] is Ellipsis:
            return f"list[{element}]", 0
        if all(one is first for one in args):
            return f"list[{element}]", len(args)
    if annotation is dict or (origin in (dict, Mapping) and first is str):
        return "object", 0
    return None


def _scalar(annotation: Any) -> str | None:
    """The kind of a single value. Nothing is hashed: an annotation may be a list, or hold one."""
    return next((kind for known, kind in SCALARS.items() if annotation is known), None)


TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    "bool": bool,
    "int": int,
    "int32": int,
    "float": (int, float),
    "str": str,
    "bytes": bytes,
    "timestamp": datetime,
    "object": dict,
}
"""The Python types of each kind of value; bool, which Python counts among the integers, is told apart below."""


PLAIN: Final = {"bool": bool, "int": int, "float": float, "str": str}
"""The types that most values of a kind have."""


def fits(value: object, kind: str, length: int = 0) -> bool:
    """Is the value of this kind? Null is of every kind: it stands for no value."""
    if type(value) is PLAIN.get(kind) or value is None or kind == "any":
        return True
    if kind.startswith("list["):
        if not isinstance(value, (list, tuple)) or (length and len(value) != length):
            return False
        return all(fits(item, kind[5:-1]) for item in value)
    return isinstance(value, TYPES[kind]) and (kind == "bool" or not isinstance(value, bool))
