"""A plan: everything that is done to a world, step by step, and all that the run needs beside it.

A run of a seed draws its doings as it goes; its plan is the same run without the drawing (replay.py). Steps can be
taken away from a plan, and what is left of the run goes on as before: what stays to chance, such as how long a frame
takes or which part of a group a crash leaves, is drawn by the seed for each link and each machine alone.

A plan is written as a script, a text that people read and tests hold:

    seed 39
    links B1-B2 B2-B3
    limits {"COPIES_MAX":4}
       3.000000  c0     attach       {"home":"B1"}
       5.200000  c0     publish      {"event":{"$type":"Quote","price":4,"$program":"Quote"}}
       6.000000  B2     crash        {"with_disk":true}
      20.000000  *      mend

Each step has its time in seconds since the world began, who does it or to whom it is done, what is done, and its
options as JSON. The brokers are those of the links. With `calm true` a few events are published at the end, as in the
run of a seed. Lines that begin with # say nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import msgspec
from msgspec.structs import fields

from agvent import limits
from agvent.errors import CallerError
from agvent.sim.machine import Machine
from agvent.sim.topology import Edge

MEND: Final = "mend"
"""The step that ends the chaos phase. Every plan has it once."""

HEADERS: Final = ("seed", "links", "limits", "machine", "calm")


class Step(msgspec.Struct, frozen=True):
    """One thing that is done: at a time since the world began, by or to somebody. The options are values of JSON."""

    at: int
    who: str
    what: str
    options: dict[str, Any] = {}

    def __str__(self) -> str:
        options = msgspec.json.encode(self.options).decode() if self.options else ""
        return f"{self.at / 1e6:13.6f}  {self.who:<6} {self.what:<12} {options}".rstrip()


def shortened(struct: msgspec.Struct) -> dict[str, Any]:
    """Its fields that are not what they are without saying so."""
    plain = msgspec.to_builtins(struct)
    return {field.name: plain[field.name] for field in fields(struct) if getattr(struct, field.name) != field.default}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A run before it is run, step by step."""

    seed: int
    edges: tuple[Edge, ...]
    steps: tuple[Step, ...]
    limits: dict[str, int] = {}
    machine: Machine = Machine()
    has_calm: bool = False
    """Are a few events published at the end, as in the run of a seed (calm.py)?"""

    @property
    def mended_at(self) -> int:
        """When the chaos phase ends."""
        return next(step.at for step in self.steps if step.what == MEND)

    @property
    def brokers(self) -> tuple[str, ...]:
        """Those that are there from the beginning."""
        return tuple(dict.fromkeys(name for edge in self.edges for name in edge))

    @property
    def clients(self) -> tuple[str, ...]:
        """The names of all clients, guests too."""
        attached = (step for step in self.steps if step.what == "attach")
        return tuple(dict.fromkeys(step.options.get("client", step.who) for step in attached))

    @property
    def sizes(self) -> dict[str, int]:
        """How large it is."""
        return {
            "steps": len(self.steps),
            "brokers": len(self.brokers),
            "clients": len(self.clients),
            "limits": len(self.limits),
        }

    def script(self) -> str:
        """The plan as a text."""
        unusual = shortened(self.machine)
        heads = [f"seed {self.seed}", "links " + " ".join(f"{a}-{b}" for a, b in self.edges)]
        heads += [f"limits {msgspec.json.encode(self.limits).decode()}"] if self.limits else []
        heads += [f"machine {msgspec.json.encode(unusual).decode()}"] if unusual else []
        heads += ["calm true"] if self.has_calm else []
        return "\n".join([*heads, *map(str, self.steps), ""])


class ScriptError(CallerError):
    """A line of a script says nothing that can be done."""


def read_script(text: str) -> Plan:
    """The plan that a script says."""
    heads: dict[str, str] = {}
    steps: list[Step] = []
    for number, line in _lines(text):
        word, _, rest = line.partition(" ")
        try:
            if word in HEADERS:
                heads[word] = rest
            else:
                steps.append(_step(line))
        except (ValueError, InvalidOperation, msgspec.MsgspecError) as error:
            raise ScriptError(f"line {number}: {line[:80]!r} is not a step: {error}") from error
    if [step.what for step in steps].count(MEND) != 1:
        raise ScriptError(f"a script has one step {MEND!r}, where the chaos phase ends")
    return _plan(heads, steps)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that say something, each with its number."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


def _step(line: str) -> Step:
    at, who, what, *rest = line.split(None, 3)
    options = msgspec.json.decode(rest[0], type=dict[str, Any]) if rest else {}
    return Step(int(Decimal(at) * 1_000_000), who, what, options)


def _plan(heads: dict[str, str], steps: Iterable[Step]) -> Plan:
    try:
        drawn = msgspec.json.decode(heads.get("limits", "{}"), type=dict[str, int])
        unknown = [name for name in drawn if not hasattr(limits, name)]
        if unknown:
            raise ScriptError(f"{unknown[0]} is not a limit")
        edges = [tuple(words.split("-")) for words in heads.get("links", "").split()]
        return Plan(
            seed=int(heads.get("seed", "0")),
            edges=msgspec.convert(edges, tuple[Edge, ...]),
            steps=tuple(sorted(steps, key=lambda step: step.at)),
            limits=drawn,
            machine=msgspec.json.decode(heads.get("machine", "{}"), type=Machine),
            has_calm=msgspec.json.decode(heads.get("calm", "false"), type=bool),
        )
    except (ValueError, msgspec.MsgspecError) as error:
        raise ScriptError(f"the head of a script: {error}") from error
