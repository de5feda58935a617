"""Worlds that met something new are kept, and worlds like them are tried: a guided search.

The first worlds are those of the corpus so far, and of a fifth of the seeds. Of those that follow, every second is that
of the next seed, drawn as ever (blind). The others are drawn from the corpus: a world that met something new, with one
or two of its draws drawn again (guided). What each kind met that nobody had met before is counted, so that one run says
what guidance is worth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Final

import msgspec
from msgspec.structs import replace

from agvent.sim.bounds import SMALLER, consistent
from agvent.sim.machine import Machine
from agvent.sim.scenario import DOINGS, FAULTS, Scenario, swarm_of
from agvent.sim.topology import TOPOLOGIES

FIRST_SHARE: Final = 5
"""Of so many seeds one is among the first, which make a corpus."""

Change = Callable[[Scenario, Scenario, Random], Scenario]
"""A scenario with one draw of another one's, or drawn anew."""


def _seed(one: Scenario, other: Scenario, random: Random) -> Scenario:
    """The same draws, and all else happens otherwise."""
    return replace(one, seed=random.randrange(1 << 31))


def _limit(one: Scenario, other: Scenario, random: Random) -> Scenario:
    """One limit, among those that there are or another."""
    limits = dict(one.limits)
    name = random.choice(list(SMALLER))
    if limits.pop(name, None) is None or random.random() < 0.5:
        limits[name] = random.choice(SMALLER[name])
    return replace(one, limits=consistent(limits, 12))


def _kind(one: Scenario, other: Scenario, random: Random) -> Scenario:
    """A fault more or less."""
    kind = random.choice([kind for kind in FAULTS if kind != "clock"])
    kinds = tuple(old for old in one.kinds if old != kind) or (kind,)
    return replace(one, kinds=kinds if kind in one.kinds else (*one.kinds, kind))


def _doing(one: Scenario, other: Scenario, random: Random) -> Scenario:
    """Something more or less that clients do."""
    doing, before = random.choice(DOINGS), one.workload.doings
    doings = tuple(old for old in before if old != doing) if doing in before else (*before, doing)
    return replace(one, workload=replace(one.workload, doings=doings or (doing,)))


def _machine(one: Scenario, other: Scenario, random: Random) -> Scenario:
    name = random.choice(Machine.__struct_fields__)
    return replace(one, machine=replace(one.machine, **{name: getattr(other.machine, name)}))


def _amount(one: Scenario, other: Scenario, random: Random) -> Scenario:
    name = random.choice(("clients", "actions", "duration_us", "large", "moments", "couriers"))
    return replace(one, workload=replace(one.workload, **{name: getattr(other.workload, name)}))


def _network(one: Scenario, other: Scenario, random: Random) -> Scenario:
    if random.random() < 0.5:
        return replace(one, fault_count=other.fault_count)
    fits = "COPIES_MAX" not in one.limits  # which is for so many brokers
    return replace(one, topology=random.choice(list(TOPOLOGIES)), brokers=other.brokers) if fits else one


CHANGES: Final[tuple[Change, ...]] = (_seed, _seed, _limit, _kind, _doing, _machine, _amount, _network)


def changed(scenario: Scenario, random: Random) -> Scenario:
    """A scenario like this one: one or two of its draws are drawn again."""
    other = swarm_of(random.randrange(1 << 31))
    for _ in range(random.choice((1, 1, 2))):
        scenario = random.choice(CHANGES)(scenario, other, random)
    if scenario.workload.couriers:  # the time of an agvent's journey is by the clocks of all brokers
        kinds = tuple(kind for kind in scenario.kinds if kind != "clock")
        scenario = replace(scenario, kinds=kinds or ("crash",))
    return scenario


class Tally(msgspec.Struct):
    """How many worlds of a kind ran, and how much they met that none before them had."""

    runs: int = 0
    new: int = 0

    @property
    def per_thousand(self) -> float:
        return 1_000 * self.new / self.runs if self.runs else 0.0


class Guide:
    """Draws worlds, and keeps those that met something new."""

    def __init__(self, seeds: Sequence[int], corpus: Iterable[Scenario] = (), *, random_seed: int = 0) -> None:
        self.random = Random(f"guide {random_seed}")
        self.corpus: list[Scenario] = []
        self.first, self.blind, self.guided = Tally(), Tally(), Tally()
        self._kinds: dict[bytes, Tally] = {}  # of the worlds that run
        self._again = list(corpus)[::-1]  # these run first: nothing else says what they meet
        self._seeds = iter(seeds)
        self._left = len(seeds)
        self._at_first = len(seeds) // FIRST_SHARE

    def draw(self) -> Scenario | None:
        """The next world; None when there are no more seeds. A guided one uses up a seed too."""
        if self._again:
            return self._drawn(self._again.pop(), self.first)
        seed = next(self._seeds, None)
        if seed is None:
            return None
        self._left -= 1
        self._at_first -= 1
        if self._at_first >= 0 or not self.corpus:
            return self._drawn(swarm_of(seed), self.first)
        if self._left % 2:
            return self._drawn(swarm_of(seed), self.blind)
        return self._drawn(changed(self.random.choice(self.corpus), self.random), self.guided)

    def _drawn(self, scenario: Scenario, kind: Tally) -> Scenario:
        self._kinds[_key(scenario)] = kind
        return scenario

    def learn(self, scenario: Scenario, new: int) -> bool:
        """A world has run and met so much that is new. True if it belongs to the corpus now."""
        kind = self._kinds.pop(_key(scenario))
        kind.runs += 1
        kind.new += new
        if new:
            self.corpus.append(scenario)
        return new > 0


def _key(scenario: Scenario) -> bytes:
    return msgspec.json.encode(scenario)


def read_corpus(path: Path) -> list[Scenario]:
    """The worlds in a file, a line each; none if it is not there yet."""
    if not path.exists():
        return []
    return [msgspec.json.decode(line, type=Scenario) for line in path.read_bytes().splitlines()]


def keep(path: Path, scenario: Scenario) -> None:
    """Adds a world to the file."""
    with path.open("ab") as file:
        file.write(_key(scenario) + b"\n")
