"""What can be advertised: a type by its name, a type as data, or an agvent class."""

from __future__ import annotations

import msgspec

from agvent.agents.authoring.agvent import Agvent
from agvent.errors import CallerError
from agvent.types import AgventType


class AdvertisedType(msgspec.Struct, frozen=True):
    """An advertisement: the type, its publisher, and the publisher's broker."""

    broker: str
    publisher: str
    type: AgventType


def class_of(cls: type) -> type[Agvent]:
    if not issubclass(cls, Agvent) or cls is Agvent:
        raise CallerError(
            f"{cls.__name__} is not an agvent class", hint="advertise a subclass of Agvent: class Book(Agvent)"
        )
    return cls


def named_type(given: AgventType | str) -> AgventType:
    if isinstance(given, (AgventType, str)):
        return AgventType(name=given) if isinstance(given, str) else given
    what = type(given).__name__
    hint = f"pass the class: advertise({what})" if isinstance(given, Agvent) else "pass a name, a type or a class"
    raise CallerError(f"a {what} cannot be advertised", hint=hint)
