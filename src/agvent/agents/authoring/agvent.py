"""`class Book(Agvent)`: what a publisher writes. Fields and methods are read when the class is defined.

An instance is frozen and has only plain values, copies of its own, so that what is published is what was checked. The
methods also run as ordinary Python, in the publisher's own process.
"""

from __future__ import annotations

import inspect
from enum import Enum
from types import FunctionType, MemberDescriptorType
from typing import Annotated, Any, ClassVar, Final, NamedTuple, NoReturn, TypeVar, dataclass_transform, get_origin

from agvent.agents.authoring.annotations import Kinded, fits, hints_of, kinded
from agvent.agents.authoring.method_checks import check_method, line_of
from agvent.agents.authoring.purity import copied
from agvent.errors import EventError, ProgramError
from agvent.event import checked
from agvent.filters.evaluate import HOLDS
from agvent.filters.functions import BUILTINS
from agvent.types import AdvertisedBehaviour, Parameter

T = TypeVar("T")


class Secrecy(Enum):
    """Who reads a field."""

    PUBLIC = "everybody"
    OPAQUE = "sandboxes, for filters that call it"
    HIDDEN = "sandboxes"
    SEALED = "subscribers whom the publisher admits"


Opaque = Annotated[T, Secrecy.OPAQUE]
"""A field that filters call like a behaviour without parameters, and that nobody outside a sandbox reads."""

Sealed = Annotated[T, Secrecy.SEALED]
"""A field encrypted end to end, for the subscribers whom the publisher admits."""

RESERVED: Final = {"arrive": "subscriber", "route": "server"}
"""Methods that the network calls, and what it gives them; they are no behaviours."""

OPTIONAL: Final = "write | None behind its kind, or leave the default out"

MISSING: Final = object()
"""The default of a field that must be given."""


class Field(NamedTuple):
    """One field of an agvent class."""

    name: str
    kinded: Kinded
    secrecy: Secrecy
    default: Any


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Agvent:
    """The base of agvent classes. Annotated attributes are fields; methods are behaviours, which filters call.

    >>> class Book(Agvent):
    ...     title: str
    ...     price: float = 10.0
    ...
    ...     def wholesale(self, copies: int) -> float:
    ...         return copies * self.price * 0.5
    >>> book = Book(title="Agents and Events", price=35.0)
    >>> book.title, book.wholesale(100)
    ('Agents and Events', 1750.0)

    Instances are frozen. `client.advertise(Book)` brings the code to the brokers, `client.publish(book)` publishes one;
    the class must be in a file. docs/agvents.md says what a class may have.
    """

    __agvent_fields__: ClassVar[dict[str, Field]] = {}
    __agvent_behaviours__: ClassVar[tuple[AdvertisedBehaviour, ...]] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.__agvent_fields__ = _fields(cls)
        for name, member in vars(cls).items():
            if not name.startswith("__annot"):  # Python 3.14 keeps a function for the annotations there
                _check_member(cls, name, member)
        _check_reserved(cls)
        cls.__agvent_behaviours__ = tuple(_behaviours(cls))

    def __init__(self, **given: Any) -> None:
        fields = type(self).__agvent_fields__
        if unknown := given.keys() - fields.keys():
            raise EventError(f"{type(self).__name__} has no field {min(unknown)}", hint=f"fields: {', '.join(fields)}")
        for field in fields.values():
            object.__setattr__(self, field.name, _value(type(self).__name__, field, given))

    def __setattr__(self, name: str, value: object) -> None:
        raise EventError(f"{type(self).__name__} is frozen: {name} cannot change", hint="publish a new agvent")

    def __repr__(self) -> str:
        public = [one.name for one in type(self).__agvent_fields__.values() if one.secrecy is Secrecy.PUBLIC]
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in public)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in type(self).__agvent_fields__)

    __hash__ = None  # type: ignore[assignment]  # fields may be lists


def _value(owner: str, field: Field, given: dict[str, Any]) -> Any:
    value = copied(given.get(field.name, field.default))
    if value is MISSING or (value is None and not field.kinded.optional):
        raise EventError(f"{owner} needs {field.name}", hint=f"it is of kind {field.kinded.kind}")
    _check_value(owner, field, value)
    return value


def _check_value(owner: str, field: Field, value: Any) -> None:
    """Refuses what the field cannot hold. Only a public field's value is in the message: messages are logged."""
    kind, length, *_ = field.kinded
    is_public = field.secrecy is Secrecy.PUBLIC
    if not fits(value, kind, length):
        shown = repr(value) if is_public else f"that {type(value).__name__}"
        length_said = f" of length {length}" if length else ""
        raise EventError(f"{owner}.{field.name} cannot be {shown}"[:200], hint=f"it is of kind {kind}{length_said}")
    if is_public:
        checked(value, (field.name,))
    elif not _may_stand(value):
        raise EventError(
            f"{owner}.{field.name} has a value that no event can hold",
            hint="integers have 64 bits, timestamps a zone, texts no lone surrogates, objects texts as keys",
        )


def _may_stand(value: Any) -> bool:
    try:
        checked(value)
    except EventError:
        return False
    return True


# Reading a class


def _fields(cls: type[Agvent]) -> dict[str, Field]:
    return {
        name: _field(cls, name, hint)
        for name, hint in _hints(cls).items()
        if get_origin(hint) is not ClassVar and not name.startswith("__")
    }


def _hints(cls: type[Agvent]) -> dict[str, Any]:
    try:
        return hints_of(cls, cls.__name__)
    except ProgramError:
        for name, written in vars(cls).get("__annotations__", {}).items():
            alone = type(cls.__name__, (), {"__annotations__": {name: written}, "__module__": cls.__module__})
            hints_of(alone, f"{cls.__name__}.{name}", line_of(cls, name))
        raise


def _field(cls: type[Agvent], name: str, hint: Any) -> Field:
    try:
        found = kinded(hint, f"{cls.__name__}.{name}")
    except ProgramError as error:
        raise ProgramError(error.message, line=line_of(cls, name), hint=error.hint) from None
    secrecies = [note for note in found.notes if isinstance(note, Secrecy)]
    secrecy = secrecies[0] if secrecies else Secrecy.HIDDEN if name.startswith("_") else Secrecy.PUBLIC
    default = getattr(cls, name, MISSING)
    if isinstance(default, FunctionType):
        raise ProgramError(
            f"{cls.__name__}.{name} is a field and a method", line=default.__code__.co_firstlineno, hint="rename one"
        )
    if isinstance(default, MemberDescriptorType):  # of __slots__
        default = MISSING
    field = Field(name, found, secrecy, default)
    _check_default(cls, field)
    return field


def _check_default(cls: type[Agvent], field: Field) -> None:
    if field.default is MISSING or (field.default is None and field.kinded.optional):
        return
    what = f"the default of {cls.__name__}.{field.name}"
    if field.default is None:
        raise ProgramError(f"{what} cannot be None", line=line_of(cls, field.name), hint=OPTIONAL)
    try:
        _check_value(cls.__name__, field, field.default)
    except EventError as error:
        line = line_of(cls, field.name)
        raise ProgramError(f"{what} does not fit: {error.message}", line=line, hint=error.hint) from None


def _check_member(cls: type[Agvent], name: str, member: object) -> None:
    if isinstance(member, FunctionType):
        check_method(cls.__name__, member)
    elif isinstance(member, (staticmethod, classmethod, property)):
        function = member.fget if isinstance(member, property) else member.__func__
        raise ProgramError(
            f"{cls.__name__}.{name} is a {type(member).__name__}, which the sandbox does not run",
            line=function.__code__.co_firstlineno if isinstance(function, FunctionType) else 0,
            hint="write it as a plain method of self",
        )
    elif isinstance(member, type) and not name.startswith("__"):
        raise ProgramError(f"{cls.__name__}.{name} is a class inside an agvent", hint="use a dict or a tuple")


def _check_reserved(cls: type[Agvent]) -> None:
    methods = methods_of(cls)
    for name in RESERVED.keys() & methods.keys():
        try:
            inspect.signature(methods[name]).bind("self", RESERVED[name])
        except TypeError:
            raise ProgramError(
                f"{cls.__name__}.{name} is called with a {RESERVED[name]}, and cannot be",
                line=methods[name].__code__.co_firstlineno,
                hint=f"write def {name}(self, {RESERVED[name]})",
            ) from None


def methods_of(cls: type[Agvent]) -> dict[str, FunctionType]:
    """Every method that an agvent of this class has, its ancestors' included, theirs first."""
    ancestry = [one for one in reversed(cls.__mro__) if one not in (object, Agvent)]
    return {
        name: member
        for one in ancestry
        for name, member in vars(one).items()
        if isinstance(member, FunctionType) and not name.startswith("__")
    }


def _behaviours(cls: type[Agvent]) -> list[AdvertisedBehaviour]:
    fields = [field for field in cls.__agvent_fields__.values() if field.secrecy is Secrecy.OPAQUE]
    for field in fields:
        if _is_function(field.name):
            _refuse_name(f"{cls.__name__}.{field.name}", line_of(cls, field.name))
    opaque = [
        AdvertisedBehaviour(field.name, field.kinded.kind, (), field.kinded.description, opaque=True)
        for field in fields
    ]
    public = {name: one for name, one in methods_of(cls).items() if not name.startswith("_") and name not in RESERVED}
    return opaque + [_behaviour(cls.__name__, name, function) for name, function in public.items()]


def _behaviour(owner: str, name: str, function: FunctionType) -> AdvertisedBehaviour:
    whose, line = f"{owner}.{name}", function.__code__.co_firstlineno
    if _is_function(name):
        _refuse_name(whose, line)
    hints = hints_of(function, whose, line)
    if "return" not in hints:
        raise ProgramError(f"{whose} does not say what it returns", line=line, hint="write -> bool, -> float, …")
    parameters = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.name not in hints:
            raise ProgramError(
                f"{whose}: {parameter.name} needs an annotation, and cannot be *args or **kwargs",
                line=line,
                hint="name each parameter and annotate it: amount: int",
            )
        found = kinded(hints[parameter.name], f"{whose}({parameter.name})", line)
        if parameter.default is not parameter.empty and not fits(parameter.default, found.kind, found.length):
            raise ProgramError(
                f"the default of {whose}({parameter.name}) cannot be {parameter.default!r}"[:200],
                line=line,
                hint=f"it is of kind {found.kind}",
            )
        parameters.append(Parameter(parameter.name, found.kind, found.description))
    returns = kinded(hints["return"], f"{whose}()", line).kind
    return AdvertisedBehaviour(name, returns, tuple(parameters), inspect.cleandoc(function.__doc__ or ""))


def _is_function(name: str) -> bool:
    """Would a filter that calls it call a function of its own?"""
    return name in BUILTINS or name == HOLDS


def _refuse_name(whose: str, line: int) -> NoReturn:
    raise ProgramError(f"{whose}: filters have a function of that name", line=line, hint="give it another")
