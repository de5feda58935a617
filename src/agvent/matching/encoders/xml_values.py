"""Values of XML documents for the index: what `filters/xpath_values.py` names, found in one walk of a document.

The contexts of all subscriptions are one automaton over element names, made as documents need it: a state is the set of
steps at which paths stand. Cost: one look-up for each element the automaton comes to, however many paths there are, and
for an element of a context, its children and the values that are asked for. What no path leads into is not walked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from lxml import etree

from agvent import limits
from agvent.event import Kind
from agvent.filters.xpath_values import ALONE, DESCENDANT, EACH, LARGE, LEAST, MOST, SEVERAL
from agvent.matching.columns.slots import NONE, SlotTarget
from agvent.xml import Document

NAMED_STEP: Final = re.compile(r"(//?)((?:\{[^}]*\})?[^/]+)")
PLAIN: Final = re.compile(r"[ \t\r\n]*(-?)([0-9]{1,15})(?:\.([0-9]{0,15}))?[ \t\r\n]*")
"""Numbers that libxml2 and two operations on floats read alike."""

TRANSITIONS_MAX: Final = 65_536
"""Steps of the automaton that are kept; beyond it they are made anew."""

NUMBERS_KEPT: Final = 4_096
NO_TEXTS: Final[dict[str, list[str]]] = {}
OTHER: Final = ""
"""Stands for every name that no path has."""

ANY: Final = "*"
STRING_VALUE: Final = etree.XPath("string()", smart_strings=False)
NUMBER_VALUE: Final = etree.XPath("number($text)")


class ValuePlaces(NamedTuple):
    """The columns of a value in one mode; NONE where nobody asks."""

    present: int
    texts: int
    numbers: int
    most: int
    least: int


UNASKED: Final = ValuePlaces(NONE, NONE, NONE, NONE, NONE)


class Context:
    """A sort of element, and what is asked of it. `values` has the places of each value by mode, in `found` the
    presence of the element itself, in `alone` that of only one."""

    def __init__(self, key: str) -> None:
        self.steps = [(axis, name) for axis, name in NAMED_STEP.findall(key)]
        assert "".join(axis + name for axis, name in self.steps) == key
        self.values: dict[str, dict[str, ValuePlaces]] = {mode: {} for mode in (EACH, SEVERAL, LARGE)}
        self.found = dict.fromkeys((EACH, SEVERAL, LARGE), NONE)
        self.alone = NONE

    def add(self, mode: str, rest: tuple[Any, ...], target: SlotTarget) -> None:
        """Notes where something that is asked for goes."""
        if mode == ALONE:
            self.alone = target.values[Kind.NULL]
        elif not rest:
            self.found[mode] = target.values[Kind.NULL]
        else:
            known = self.values[mode].get(rest[0], UNASKED)
            number = target.values[Kind.NUMBER]
            if rest[1:] == (MOST,):
                known = known._replace(most=number)
            elif rest[1:] == (LEAST,):
                known = known._replace(least=number)
            else:
                lists = target.lists
                known = ValuePlaces(target.values[Kind.NULL], lists[Kind.STRING], lists[Kind.NUMBER], *known[3:])
            self.values[mode][rest[0]] = known

    def modes(self, *, large: bool, several: bool) -> tuple[str, ...]:
        """The modes in which its values count."""
        if large:
            return (SEVERAL, LARGE)
        return (EACH, SEVERAL) if several else (EACH,)


class ElementReader:
    """What to read at an element of some contexts: its children by name, each with the values that end there or lead
    deeper, its attributes, and its own text. `numbers` are the values that are read as numbers too."""

    def __init__(self, values: Iterable[str]) -> None:
        self.own = False
        self.attributes: list[str] = []
        self.children: dict[str, list[tuple[str, tuple[str, ...], str]]] = defaultdict(list)
        for value in values:
            names = value.split("\n")
            attribute = names.pop()[1:] if names[-1].startswith("@") else ""
            if value == ".":
                self.own = True
            elif not names:
                self.attributes.append(attribute)
            else:
                self.children[names[0]].append((value, tuple(names[1:]), attribute))

    def read(self, element: Any, children: list[Any]) -> dict[str, list[str]]:
        """The texts of the values at an element."""
        texts: dict[str, list[str]] = {}
        if self.children:
            known = self.children.get
            for child in children:
                wanted = known(child.tag)
                if wanted is not None:
                    for value, names, attribute in wanted:
                        found = _texts(child, names, attribute) if names or attribute else [_text(child)]
                        if found:  # a value is there if it has a text: none of them is no value
                            texts[value] = texts[value] + found if value in texts else found
        for attribute in self.attributes:
            text = element.get(attribute)
            if text is not None:
                texts["@" + attribute] = [text]
        if self.own:
            texts["."] = [_text(element)]
        return texts


class ElementStep(NamedTuple):
    """Where an element leads: the state for its children, the contexts it is of, and what to read of it."""

    following: PathState | None
    completed: tuple[Context, ...]
    reader: ElementReader | None


class PathState:
    """Which paths stand at which step, and where each element name leads from there."""

    __slots__ = ("next", "places")

    def __init__(self, places: tuple[tuple[int, int], ...]) -> None:
        self.places = places
        self.next: dict[str, ElementStep] = {}


NOWHERE: Final = ElementStep(None, (), None)


class Documents:
    """All contexts that filters ask about."""

    def __init__(self, targets: Iterable[SlotTarget]) -> None:
        by_key: dict[str, Context] = {}
        for target in targets:
            _, mode, key, *rest = target.path
            by_key.setdefault(str(key), Context(str(key))).add(str(mode), tuple(rest), target)
        self.contexts = list(by_key.values())
        self.names = {name for context in self.contexts for _, name in context.steps}
        self._begin()

    def _begin(self) -> None:
        self.states: dict[tuple[tuple[int, int], ...], PathState] = {}
        self.transitions = 0
        self.start = PathState(tuple((number, 0) for number in range(len(self.contexts))))

    def found(self, document: Document) -> Mapping[Context, tuple[bool, Mapping[str, list[str]]]]:
        """The contexts that a document has: whether in several elements, and the texts of what is asked of them."""
        found: dict[Context, tuple[bool, dict[str, list[str]]]] = {}
        waiting = [([document.root], self.start)]
        while waiting:
            elements, state = waiting.pop()
            lead = state.next.get
            for element in elements:
                following, completed, reader = lead(element.tag) or self._step(state, element.tag)
                children = element[:] if following is not None or reader is not None else []
                if completed:
                    texts = NO_TEXTS if reader is None else reader.read(element, children)
                    for context in completed:
                        known = found.get(context)
                        found[context] = (False, texts) if known is None else (True, _joined(known[1], texts))
                if children and following is not None:
                    waiting.append((children, following))
        return found

    def _step(self, state: PathState, tag: Any) -> ElementStep:
        """Where an element leads that the state has not met. Names of no path all lead where OTHER does."""
        if type(tag) is not str:
            return NOWHERE  # a comment or a processing instruction
        if self.transitions >= TRANSITIONS_MAX:
            self._begin()
        self.transitions += 1
        name = tag if tag in self.names else OTHER
        if name not in state.next:
            state.next[name] = self._made(state, name)
        step = state.next[tag] = state.next[name]
        return step

    def _made(self, state: PathState, name: str) -> ElementStep:
        places: list[tuple[int, int]] = []
        completed: list[Context] = []
        for number, at in state.places:
            context = self.contexts[number]
            axis, wanted = context.steps[at]
            if axis == DESCENDANT:
                places.append((number, at))
            if wanted in (ANY, name):
                if at + 1 == len(context.steps):
                    completed.append(context)
                else:
                    places.append((number, at + 1))
        key = tuple(dict.fromkeys(places))
        following = self.states.setdefault(key, PathState(key)) if key else None
        done = tuple(dict.fromkeys(completed))
        values = dict.fromkeys(value for one in done for mode in one.values.values() for value in mode)
        return ElementStep(following, done, ElementReader(values) if values else None)


def _joined(first: Mapping[str, list[str]], second: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {value: [*first.get(value, ()), *second.get(value, ())] for value in {**first, **second}}


def _texts(element: Any, names: tuple[str, ...], attribute: str) -> list[str]:
    """The texts of a value that lies below an element, or is it."""
    nodes = [element]
    for name in names:
        nodes = [child for node in nodes for child in node.iterchildren(name)]
    if not attribute:
        return [_text(node) for node in nodes]
    return [text for node in nodes if (text := node.get(attribute)) is not None]


def _text(element: Any) -> str:
    """XPath's string-value."""
    return (element.text or "") if not len(element) else STRING_VALUE(element)


@lru_cache(NUMBERS_KEPT)
def number_of(text: str) -> float:
    """What libxml2's number() makes of a string-value."""
    plain = PLAIN.fullmatch(text)
    if plain is None:
        return float(NUMBER_VALUE(_EMPTY, text=text))
    sign, whole, fraction = plain.groups()
    number = float(int(whole))
    if fraction:
        number += int(fraction) / 10.0 ** len(fraction)
    return -number if sign else number


_EMPTY: Final = etree.fromstring("<a/>")


def is_large(document: Document) -> bool:
    """Is it so large that libxml2 has to confirm what its values say?"""
    return document.size > limits.XML_SMALL_SIZE_MAX
