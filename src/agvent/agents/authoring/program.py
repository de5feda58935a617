"""A program: the code of an agvent class as text, and what may be called of it. Its hash is its name."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Final

import msgspec

from agvent.agents.authoring.annotations import fits
from agvent.agents.authoring.purity import may_change
from agvent.event import Value


class Signature(msgspec.Struct, frozen=True):
    """What a sandbox checks of a call: how many arguments it takes at least, their kinds, the kind of its answer.

    `opaque` is a field that is read, not called.
    """

    name: str
    returns: str
    parameters: tuple[str, ...] = ()
    required: int = 0
    opaque: bool = False

    def misfit(self, args: tuple[Value, ...]) -> str:
        """Why these cannot be its arguments; empty if they can."""
        if not self.required <= len(args) <= len(self.parameters):
            return f"{self.name} takes {len(self.parameters)} arguments, not {len(args)}"
        for number, (value, kind) in enumerate(zip(args, self.parameters, strict=False), 1):
            if not fits(value, kind):
                return f"argument {number} of {self.name} is not of kind {kind}"
        return ""


class Program(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Code that defines one class named `type`, the behaviours of it that may be called, the fields that it reads."""

    type: str
    source: str
    behaviours: tuple[Signature, ...] = ()
    reads: tuple[str, ...] = ()
    arrives: bool = False
    routes: bool = False

    @cached_property
    def hash(self) -> str:
        """SHA-256 of all of it, in hexadecimal."""
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()

    @cached_property
    def signatures(self) -> dict[str, Signature]:
        """The behaviours by name."""
        return {one.name: one for one in self.behaviours}

    @cached_property
    def may_change(self) -> bool:
        """Is there anything in it that changes a list or an object?"""
        return may_change(self.source)

    @cached_property
    def text(self) -> str:
        """What a sandbox loads: the program, and below it what drives it, so that the program cannot replace that."""
        driver = DRIVER + ROUTE_DRIVER if self.routes else DRIVER
        return self.source + driver.replace("AGVENT", self.type)


DRIVER: Final = """

class _agvent_subscriber:
    def tell(self, value):
        self.told.append(value)

    def answer(self, value):
        self.answered.append(value)


def _agvent_make(state):
    agvent = AGVENT()
    for name, value in state.items():
        setattr(agvent, name, value)
    return agvent


def _agvent_run(tasks):
    values = []
    faults = {}
    for state, calls in tasks:
        agvent = _agvent_make(state)
        for name, args in calls:
            try:
                found = getattr(agvent, name)
                values.append(found if args is None else found(*args))
            except Exception as error:
                faults[len(values)] = type(error).__name__
                values.append(None)
    return values, faults


def _agvent_arrive(state, name, context):
    subscriber = _agvent_subscriber()
    subscriber.name, subscriber.context, subscriber.told, subscriber.answered = name, context, [], []
    _agvent_make(state).arrive(subscriber)
    return subscriber.told, subscriber.answered
"""
"""Calls behaviours, many to a batch; its names are none that a publisher would use. Of an exception only the type
comes out: its text may hold what is hidden."""

ROUTE_DRIVER: Final = """

class _agvent_server:
    def say(self, message):
        return _agvent_say(message)

    def _ref(self, ref):
        return self.say({"performative": "query-ref", "content": {"ref": ref}})["content"]

    def _request(self, content):
        reply = self.say({"performative": "request", "content": content})
        self.refusal = reply["content"].get("reason", "")
        self.name = reply["content"].get("server", self.name)
        return reply["performative"] in ("agree", "inform")

    def targets(self):
        return self._ref("targets")

    def subscribers(self):
        return self._ref("subscribers")

    def neighbours(self):
        return self._ref("neighbours")

    def budget(self):
        return self._ref("budget")

    def deliver(self, subscribers=None):
        return self._request({"action": "deliver", "subscribers": subscribers})

    def clone(self, broker, targets=None):
        return self._request({"action": "clone", "to": broker, "targets": targets})

    def move(self, broker):
        return self._request({"action": "move", "to": broker})

    def dispose(self):
        return self._request({"action": "dispose"})


def _agvent_route(state, name):
    server = _agvent_server()
    server.name, server.refusal = name, ""
    _agvent_make(state).route(server)
"""
"""What a route talks to. `_agvent_say` is the one thing that a worker asks its host for: the manager agent's reply."""
