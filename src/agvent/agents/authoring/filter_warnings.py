"""What a filter asks of a type that nobody who advertises it can answer: said to the subscriber, and no error, because
another advertisement may come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from agvent.agents.authoring.annotations import fits
from agvent.agents.authoring.type_table import call_of
from agvent.filters.tree import Attribute, Call, Condition, Literal, walk
from agvent.types import AdvertisedBehaviour, AgventType


def warnings_of(condition: Condition, name: str, types: Sequence[AgventType]) -> tuple[str, ...]:
    """What a condition on a type names that none of its versions and subtypes, all of them advertised, has. Nothing if
    the type itself is not among them, or one of them is of no class: that may have any attribute."""
    if name not in (type.name for type in types) or not all(type.program for type in types):
        return ()
    known = _Known(name, types)
    found = [warning for node in walk(condition) for warning in known.of(node)]
    return tuple(dict.fromkeys(found))


class _Known:
    """What the types have together."""

    def __init__(self, name: str, types: Sequence[AgventType]) -> None:
        self.name = name
        self.attributes = {attribute.name for type in types for attribute in type.attributes}
        self.behaviours: dict[str, list[AdvertisedBehaviour]] = {}
        for behaviour in (behaviour for type in types for behaviour in type.behaviours):
            self.behaviours.setdefault(behaviour.name, []).append(behaviour)

    def of(self, node: object) -> Iterator[str]:
        if isinstance(node, Attribute):
            first = str(node.path[0])
            if first in self.behaviours and first not in self.attributes:
                yield f"{first} is a behaviour of {self.name}: write {call_of(self.behaviours[first][0])}"
            elif first not in self.attributes and not first.startswith("$"):
                yield f"{self.name} has no attribute {first}{self._near(first)}"
        elif isinstance(node, Call):
            behaviours = self.behaviours.get(node.name, [])
            if node.name in self.attributes and not behaviours:
                yield f"{node.name} is an attribute of {self.name}: write it without ()"
            elif not behaviours:
                yield f"{self.name} has no behaviour {node.name}{self._near(node.name)}"
            elif not any(_takes(behaviour, node) for behaviour in behaviours):
                yield f"{self.name} has {call_of(behaviours[0])}, which does not accept these arguments"

    def _near(self, name: str) -> str:
        found = get_close_matches(name, [*self.attributes, *self.behaviours], 1)
        return f": did you mean {found[0]}?" if found else ""


def _takes(behaviour: AdvertisedBehaviour, call: Call) -> bool:
    """May these be its arguments? How many have defaults is not advertised."""
    return len(call.args) <= len(behaviour.parameters) and all(
        not isinstance(given, Literal) or fits(given.value, parameter.kind)
        for given, parameter in zip(call.args, behaviour.parameters, strict=False)
    )
