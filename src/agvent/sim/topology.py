"""The graphs of brokers that are simulated. Each is connected; an edge is a pair of names."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Final

Edge = tuple[str, str]

ABDES: Final[tuple[Edge, ...]] = (
    ("AS1", "AS2"), ("AS1", "AS4"), ("AS2", "AS3"), ("AS2", "AS8"), ("AS3", "AS8"), ("AS4", "AS5"), ("AS5", "AS6"),
    ("AS6", "AS7"), ("AS7", "AS10"), ("AS8", "AS9"), ("AS9", "AS10"), ("AS9", "AS12"), ("AS10", "AS11"),
    ("AS11", "AS12"),
)  # fmt: skip
"""The twelve servers of ABDES figs. 5–7."""

ABDES_BROKERS: Final = 12


def _names(count: int) -> list[str]:
    return [f"B{number}" for number in range(1, count + 1)]


def line(count: int, random: Random) -> list[Edge]:
    names = _names(count)
    return list(pairwise(names))


def ring(count: int, random: Random) -> list[Edge]:
    names = _names(count)
    return [*line(count, random), (names[-1], names[0])] if count > 2 else line(count, random)


def star(count: int, random: Random) -> list[Edge]:
    hub, *leaves = _names(count)
    return [(hub, leaf) for leaf in leaves]


def tree(count: int, random: Random) -> list[Edge]:
    names = _names(count)
    return [(names[(at - 1) // 2], names[at]) for at in range(1, count)]


def grid(count: int, random: Random) -> list[Edge]:
    width = max(2, int(count**0.5))
    names = _names(count)
    across = [(names[at], names[at + 1]) for at in range(count - 1) if (at + 1) % width]
    return across + [(names[at], names[at + width]) for at in range(count - width)]


def random_graph(count: int, random: Random) -> list[Edge]:
    """A random tree and half as many edges more."""
    names = _names(count)
    edges = [(names[random.randrange(at)], names[at]) for at in range(1, count)]
    for _ in range(count // 2):
        a, b = sorted(random.sample(range(count), 2))
        if (names[a], names[b]) not in edges:
            edges.append((names[a], names[b]))
    return edges


def small_world(count: int, random: Random) -> list[Edge]:
    """A ring with shortcuts (Watts and Strogatz)."""
    names = _names(count)
    edges = ring(count, random)
    for at in range(0, count, 3):
        other = random.randrange(count)
        edge = (names[min(at, other)], names[max(at, other)])
        if other != at and edge not in edges and edge[::-1] not in edges:
            edges.append(edge)
    return edges


def abdes(count: int, random: Random) -> list[Edge]:
    return list(ABDES)


TOPOLOGIES: Final[dict[str, Callable[[int, Random], list[Edge]]]] = {
    "line": line,
    "ring": ring,
    "star": star,
    "tree": tree,
    "grid": grid,
    "random": random_graph,
    "small-world": small_world,
    "abdes": abdes,
}
