"""How much work an XPath can be: a bound on the steps libxml2 makes, as a polynomial in a document's size and depth.

Mechanism, all of it an upper bound: a path visits nodes step by step. Each node has one parent, so along `child` a set
of distinct nodes reaches distinct nodes, N at most. Along `descendant` a node is reached once from each of its D
ancestors, along `following` from all N. Where a set of several nodes can reach one twice, libxml2 looks for it in what
it has: times N. A predicate is tried on each node as often as it is reached. A string value costs the text below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, NamedTuple

from agvent.filters.xpath_tree import (
    NODES,
    Binary,
    Expression,
    Filtered,
    LocationPath,
    LocationStep,
    Root,
    Text,
    XPathCall,
    XPathJoined,
    XPathNegative,
    type_of,
)
from agvent.xml import CHARS_PER_NODE


class Power(NamedTuple):
    """size ** n * depth ** d."""

    n: int
    d: int

    def times(self, *others: Power) -> Power:
        return Power(self.n + sum(one.n for one in others), self.d + sum(one.d for one in others))


ONE: Final = Power(0, 0)
SIZE: Final = Power(1, 0)
DEPTH: Final = Power(0, 1)

Work = Mapping[Power, int]
"""A polynomial: how often each power."""

WITHOUT_TEXT: Final = frozenset({"count", "boolean", "not", "local-name", "namespace-uri", "name"})
OF_CONTEXT: Final = frozenset({"string", "number", "string-length", "normalize-space"})
"""Functions that read the context node's text where they have no argument."""

TOKENS_PER_NODE: Final = CHARS_PER_NODE // 2
"""Ids in so much text as counts for one node."""


class _Set(NamedTuple):
    """What an expression gives over all its runs: `visits` nodes, none more than `repeats` times; `single` if each run
    has one at most. `text` is what its string values add up to."""

    visits: Power
    repeats: Power
    single: bool
    text: Power


def work_of(expression: Expression) -> Work:
    """The bound for one run of the expression."""
    meter = _Meter()
    meter.run(expression, ONE, ONE)
    return dict(meter.total)


def steps(work: Work, size: int, depth: int) -> int:
    """The bound for a document."""
    return sum(times * size**power.n * depth**power.d for power, times in work.items())


class _Meter:
    """`runs` is ONE, or SIZE for a predicate: one run for each node. `times` multiplies all of it."""

    def __init__(self) -> None:
        self.total: Counter[Power] = Counter()

    def add(self, times: Power, *powers: Power, count: int = 1) -> None:
        self.total[times.times(*powers)] += count

    def run(self, node: Expression, runs: Power, times: Power) -> _Set:
        self.add(times, runs)
        match node:
            case LocationPath():
                return self.path(node, runs, times)
            case Filtered(primary, predicates):
                found = self.run(primary, runs, times)
                for predicate in predicates:
                    self.run(predicate, SIZE, times.times(found.repeats))
                return found
            case XPathJoined("|", parts):
                for part in parts:
                    self.add(times, self.run(part, runs, times).visits, SIZE)
                return _set(runs.times(SIZE), runs, single=False)
            case XPathJoined(_, parts):
                for part in parts:
                    self.run(part, runs, times)
                return _scalar(runs, ONE)
            case Binary():
                return self.binary(node, runs, times)
            case XPathNegative(operand):
                return _scalar(runs, self.text(operand, runs, times))
            case XPathCall():
                return self.call(node, runs, times)
            case Text(value):
                self.add(times, runs, count=len(value) // CHARS_PER_NODE)
                return _scalar(runs, runs)
            case _:
                return _scalar(runs, runs)

    def path(self, path: LocationPath, runs: Power, times: Power) -> _Set:
        if path.start is None:
            here = _set(runs, ONE, single=True)
        elif isinstance(path.start, Root):
            here = _set(runs, runs, single=True)
        else:
            here = self.run(path.start, runs, times)
        for step in path.steps:
            here = self.step(step, here, runs, times)
        return here

    def step(self, step: LocationStep, here: _Set, runs: Power, times: Power) -> _Set:
        visits, repeats, disjoint = _reached(step.axis, here)
        self.add(times, here.visits)
        self.add(times, visits, ONE if disjoint or here.single else SIZE)
        for predicate in step.predicates:
            if visits == ONE:
                self.run(predicate, ONE, times)
            else:
                self.run(predicate, SIZE, times.times(repeats))
        repeats = min(repeats, runs)  # a run's set has each node once
        single = here.single and step.axis in ("self", "parent")
        return _set(min(visits, SIZE.times(repeats)), repeats, single=single)

    def text(self, node: Expression, runs: Power, times: Power) -> Power:
        """Runs an operand whose string or number is needed, and says how much text that is."""
        found = self.run(node, runs, times)
        self.add(times, found.text)
        return found.text

    def binary(self, node: Binary, runs: Power, times: Power) -> _Set:
        self.text(node.left, runs, times)
        self.text(node.right, runs, times)
        if type_of(node.left) == NODES and type_of(node.right) == NODES:
            self.add(times, runs, SIZE, SIZE)
        return _scalar(runs, runs)

    def call(self, node: XPathCall, runs: Power, times: Power) -> _Set:
        if node.name in WITHOUT_TEXT:
            for arg in node.args:
                self.run(arg, runs, times)
            return _scalar(runs, runs)
        texts = [self.text(arg, runs, times) for arg in node.args]
        if node.name in OF_CONTEXT and not node.args:
            texts = [_set(runs, ONE, single=True).text]
            self.add(times, texts[0])
        if node.name == "translate":
            letters = node.args[1]
            if isinstance(letters, Text):
                self.add(times, texts[0], count=1 + len(letters.value))
            else:
                self.add(times, texts[0], SIZE, count=CHARS_PER_NODE**2)
        if node.name == "id":
            self.add(times, max(texts), SIZE, count=TOKENS_PER_NODE)
            return _set(runs.times(SIZE), runs, single=False)
        return _scalar(runs, max([runs, *texts]))


def _set(visits: Power, repeats: Power, *, single: bool) -> _Set:
    below = min(repeats.times(DEPTH), visits)
    return _Set(visits, repeats, single, SIZE.times(below))


def _scalar(runs: Power, text: Power) -> _Set:
    return _Set(runs, runs, single=True, text=text)


def _reached(axis: str, here: _Set) -> tuple[Power, Power, bool]:
    """Nodes along an axis from a set: how many visits, how often one node, and whether no two nodes reach the same."""
    match axis:
        case "self":
            return here.visits, here.repeats, True
        case "child" | "attribute":
            return SIZE.times(here.repeats), here.repeats, True
        case "parent":
            return here.visits, here.visits, False
        case "descendant" | "descendant-or-self":
            repeats = min(here.repeats.times(DEPTH), here.visits)
            return SIZE.times(repeats), repeats, False
        case "ancestor" | "ancestor-or-self":
            return here.visits.times(DEPTH), here.visits, False
        case _:
            return here.visits.times(SIZE), here.visits, False
