"""Slots: where in a batch's columns each thing that a subscription tests stands.

A value slot is one float64 column for one term and one kind: the number itself, a string's code, 0 or 1 for a bool,
microseconds for a timestamp, and NaN where the event has no value of that kind there. So every comparison of a kind
with its own kind is a comparison of floats, and an unlike or missing value fails it by itself. The slot of kind NULL is
the presence slot: 1 where there is any value at all.

A text column holds the place of a string's bytes, for patterns. A list column holds the elements of one kind.
Slots only grow: a batch made for fewer slots than there are now serves every row that was there when it was made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from agvent.event import Kind, Path
from agvent.filters.primitives import Term
from agvent.filters.tree import Attribute, Function

NONE = -1
KINDS = len(Kind)
Derived = TypeVar("Derived")


class SlotTarget(NamedTuple):
    """Where one field's value goes; NONE where nobody asks."""

    path: Path
    values: tuple[int, ...]
    lists: tuple[int, ...]
    text: int
    lower: SlotTarget | None
    size: SlotTarget | None


class TermSlots:
    """All slots of one term. `lower` and `size` are the fields of those functions of it."""

    __slots__ = ("lists", "lower", "path", "size", "text", "values")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = [NONE] * KINDS
        self.lists = [NONE] * KINDS
        self.text = NONE
        self.lower: TermSlots | None = None
        self.size: TermSlots | None = None

    def described(self) -> dict[str, Any]:
        """The field as JSON can carry it; `of` reads it again."""
        below = {name: field.described() for name in ("lower", "size") if (field := getattr(self, name)) is not None}
        return {"path": self.path, "values": self.values, "lists": self.lists, "text": self.text, **below}

    @classmethod
    def of(cls, description: dict[str, Any]) -> TermSlots:
        made = cls(tuple(description["path"]))
        made.values, made.lists, made.text = description["values"], description["lists"], description["text"]
        made.lower = cls.of(description["lower"]) if "lower" in description else None
        made.size = cls.of(description["size"]) if "size" in description else None
        return made


class Slots:
    """The fields some subscription mentions, and how many columns of each sort they take."""

    def __init__(self) -> None:
        self.fields: dict[Path, TermSlots] = {}
        self.value_count = 0
        self.text_count = 0
        self.list_count = 0
        self.generation = 0
        """Counts changes, so that what is derived from the slots knows when it is stale."""
        self._derived: dict[Callable[[Slots], Any], tuple[int, Any]] = {}

    def derived(self, make: Callable[[Slots], Derived]) -> Derived:
        """What `make` derives from the slots, kept until they change."""
        known = self._derived.get(make)
        if known is None or known[0] != self.generation:
            known = self.generation, make(self)  # a change while `make` runs leaves it stale, and it is made again
            self._derived[make] = known
        made: Derived = known[1]
        return made

    def described(self) -> dict[str, Any]:
        """The slots as JSON can carry them; `of` reads them again."""
        counts = [self.value_count, self.text_count, self.list_count]
        return {"counts": counts, "fields": [field.described() for field in self.fields.values()]}

    @classmethod
    def of(cls, description: dict[str, Any]) -> Slots:
        made = cls()
        made.value_count, made.text_count, made.list_count = description["counts"]
        made.fields = {field.path: field for field in map(TermSlots.of, description["fields"])}
        return made

    def field(self, term: Term) -> TermSlots:
        """The field of a term, made if it is new."""
        if isinstance(term, Function):
            attribute = term.args[0]
            assert isinstance(attribute, Attribute)
            below = self.field(attribute)
            return self._function(below, term.name)
        known = self.fields.get(term.path)
        if known is None:
            known = self.fields[term.path] = TermSlots(term.path)
            self.generation += 1
        return known

    def _function(self, field: TermSlots, name: str) -> TermSlots:
        """Functions are computed from the text: it is kept for whichever kinds they accept."""
        self._need_text(field)
        if name == "lower":
            if field.lower is None:
                field.lower = TermSlots(field.path)
                self.generation += 1
            return field.lower
        if field.size is None:
            field.size = TermSlots(field.path)
            self.generation += 1
        return field.size

    def value(self, term: Term, kind: Kind) -> int:
        """The value slot of a term and kind; kind NULL is its presence."""
        field = self.field(term)
        if field.values[kind] == NONE:
            field.values[kind] = self.value_count
            self.value_count += 1
            self.generation += 1
        return field.values[kind]

    def text(self, term: Term) -> int:
        """The text column of a term."""
        field = self.field(term)
        self._need_text(field)
        return field.text

    def _need_text(self, field: TermSlots) -> None:
        if field.text == NONE:
            field.text = self.text_count
            self.text_count += 1
            self.generation += 1

    def list(self, term: Term, kind: Kind) -> int:
        """The list column of a term for elements of a kind."""
        field = self.field(term)
        if field.lists[kind] == NONE:
            field.lists[kind] = self.list_count
            self.list_count += 1
            self.generation += 1
        return field.lists[kind]
