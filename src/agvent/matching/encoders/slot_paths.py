"""The slots as an encoder walks them: a tree of path steps, with the columns to fill at its nodes.

SlotPaths is a snapshot. Slots may grow while it is made: it leaves out a slot beyond the counts that it read first, and
the next SlotPaths has it.
"""

from __future__ import annotations

from collections.abc import Iterator

from agvent import limits
from agvent.event import HEADERS, Int32, Kind
from agvent.filters.xpath_values import XML
from agvent.matching.columns.column_batch import empty_columns
from agvent.matching.columns.slots import NONE, Slots, SlotTarget, TermSlots
from agvent.matching.encoders.xml_values import Documents

ELEMENT_KINDS = (Kind.NUMBER, Kind.STRING, Kind.BOOL, Kind.TIME, Kind.BYTES)
"""The kinds of list elements that can equal something; list columns of the others stay empty."""


class PathNode:
    """A step of a path: what to fill with the value here, and which members or elements to go on to.

    `quick` is for the many nodes that ask for one number or code and perhaps presence: the slots of both by the
    value's type. Where nobody asks for presence the value's own slot stands in its place, and is then written over.
    """

    __slots__ = ("children", "quick", "target")

    def __init__(self) -> None:
        self.children: dict[str | int, PathNode] = {}
        self.target: SlotTarget | None = None
        self.quick: dict[type, tuple[int, int]] = {}

    def settle(self) -> None:
        """Makes `quick`, once the nodes below are known."""
        for child in self.children.values():
            child.settle()
        target = self.target
        if target is None or self.children or target.text != NONE or max(target.lists) != NONE:
            return
        for kind, types in QUICK_TYPES.items():
            slot, present = target.values[kind], target.values[Kind.NULL]
            if slot != NONE:
                self.quick |= dict.fromkeys(types, (slot if present == NONE else present, slot))


QUICK_TYPES: dict[Kind, tuple[type, ...]] = {Kind.NUMBER: (int, Int32, float), Kind.STRING: (str,)}


class SlotPaths:
    """The nodes of all attributes by first name, of all headers likewise, and the columns of one event with nothing.
    `documents` is what is asked for inside of XML, if anything is."""

    __slots__ = ("attributes", "documents", "empty", "headers", "lists", "texts", "values")

    def __init__(self, slots: Slots) -> None:
        self.values, self.texts, self.lists = slots.value_count, slots.text_count, slots.list_count
        self.attributes: dict[str | int, PathNode] = {}
        self.headers: dict[str | int, PathNode] = {}
        fields = list(slots.fields.values())
        inside = [self._target(field) for field in fields if field.path[0] == XML and len(field.path) > 1]
        for field in fields:
            if field.path[0] != XML or len(field.path) == 1:
                self._add(field)
        self.documents = Documents(inside) if inside else None
        for node in (*self.attributes.values(), *self.headers.values()):
            node.settle()
        self.empty = empty_columns(1, self.values, self.texts, self.lists)

    def targets(self) -> Iterator[SlotTarget]:
        """All targets of paths; those of their functions hang below them."""
        waiting = [*self.attributes.values(), *self.headers.values()]
        while waiting:
            node = waiting.pop()
            waiting += node.children.values()
            if node.target is not None:
                yield node.target

    def lowered(self) -> list[SlotTarget]:
        """The targets whose text lower() is asked of."""
        return [target for target in self.targets() if target.lower is not None and target.text != NONE]

    def _add(self, field: TermSlots) -> None:
        if len(field.path) > limits.EVENT_DEPTH_MAX:
            return  # no event is that deep
        first, *rest = field.path
        nodes = self.headers if first in HEADERS else self.attributes
        node = nodes.setdefault(first, PathNode())
        for step in rest:
            node = node.children.setdefault(step, PathNode())
        node.target = self._target(field)

    def _target(self, field: TermSlots) -> SlotTarget:
        return SlotTarget(
            field.path,
            tuple(_within(slot, self.values) for slot in field.values),
            tuple(_within(slot, self.lists) for slot in field.lists),
            _within(field.text, self.texts),
            None if field.lower is None else self._target(field.lower),
            None if field.size is None else self._target(field.size),
        )


def _within(slot: int, count: int) -> int:
    return slot if slot < count else NONE
