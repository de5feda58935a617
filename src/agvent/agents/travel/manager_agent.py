"""The manager agent of a broker (seed 002's AMA): what an agvent is told at a stop, and what it may ask for.

It answers from the surroundings that its broker gave it, and notes what it agreed to. Nothing happens before the route
ends or moves: then `decision` is all of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.agents.travel.acl import NONSENSE, AclMessage, read_message, reply_to
from agvent.agents.travel.stop import Decision, Departure, Surroundings
from agvent.event import microseconds
from agvent.wire.codec import encode_value

Said = tuple[str, Any]
"""A performative and a content."""


class ManagerAgent:
    """One stop of one agvent. `moving` is where it asked to move, which ends the conversation here."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.moving: Departure | None = None
        self.disposed = False
        self._targets = {way.broker: way for way in surroundings.targets}  # those it has still to do with
        self._reachable = {*self._targets, *(neighbour.broker for neighbour in surroundings.neighbours)}
        self._delivered: dict[str, None] = {}
        self._clones: list[Departure] = []
        self._refused: list[str] = []
        self._messages = self._bytes = 0  # said so far
        self._refs: dict[str, Callable[[], Any]] = {
            "server": lambda: surroundings.server,
            "targets": lambda: [msgspec.to_builtins(way) for way in self._targets.values()],
            "neighbours": lambda: [msgspec.to_builtins(one) for one in surroundings.neighbours],
            "subscribers": lambda: [
                {"id": one.id, "name": one.name, "context": dict(one.context)} for one in surroundings.subscribers
            ],
            "budget": self._budget,
        }
        self._actions: dict[str, Callable[[dict[str, Any]], str]] = {
            "deliver": self._deliver,
            "clone": self._clone,
            "move": self._move,
            "dispose": self._dispose,
        }

    # Conversations

    def reply(self, values: Any) -> dict[str, Any]:
        """The reply to what an agvent says, as plain values."""
        self._messages += 1
        try:
            self._bytes += len(encode_value(values))
            message, reason = read_message(values)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            message, reason = NONSENSE, f"no values: {error}"[:200]
        if not reason and message.sender not in ("", self.surroundings.agvent):
            reason = f"{self.surroundings.agvent} speaks, not {message.sender[:40]!r}"
        if not reason and self.surroundings.server not in (message.receiver or (self.surroundings.server,)):
            reason = f"{self.surroundings.server} is spoken to, not {message.receiver[0][:40]!r}"
        said = ("not-understood", {"reason": reason}) if reason else self._answer(message)
        return self._said(message, said)

    def welcome(self) -> dict[str, Any]:
        """The reply to the `move` that brought an agvent here."""
        return self._said(AclMessage(performative="request"), ("inform", {"server": self.surroundings.server}))

    @property
    def is_tired(self) -> bool:
        """Was more said than a stop may take?"""
        return self._messages > limits.STOP_MESSAGES_MAX or self._bytes > limits.STOP_SAID_BYTES_MAX

    def decision(self, snapshot: bytes = b"") -> Decision:
        """What was agreed to."""
        return Decision(
            delivered=tuple(self._delivered),
            clones=tuple(self._clones),
            moved=self.moving,
            snapshot=snapshot,
            refused=tuple(self._refused),
        )

    def _said(self, message: AclMessage, said: Said) -> dict[str, Any]:
        names = {"sender": self.surroundings.server, "receiver": self.surroundings.agvent}
        return reply_to(message, *said, **names).values()

    def _answer(self, message: AclMessage) -> Said:
        if message.reply_by is not None and microseconds(message.reply_by) < self.surroundings.now:
            return "refuse", {"reason": "reply-by is over"}
        content = message.content if isinstance(message.content, dict) else {}
        if message.performative == "query-ref":
            ref = self._refs.get(str(content.get("ref")))
            return ("inform", ref()) if ref else ("not-understood", {"reason": f"refs are {', '.join(self._refs)}"})
        action = self._actions.get(str(content.get("action")))
        if action is None:
            return "not-understood", {"reason": f"actions are {', '.join(self._actions)}"}
        refusal = action(content) if not self.disposed else "disposed of"
        return ("refuse", {"reason": refusal}) if refusal else ("agree", {"action": content["action"]})

    # Refs

    def _budget(self) -> dict[str, int]:
        budget = self.surroundings.budget
        left = {"clones": budget.clones - len(self._clones), "bytes": budget.bytes - self._spent()}
        return {"hops": budget.hops, **left, "time_us": budget.time_us}

    def _spent(self) -> int:
        return len(self._clones) * self.surroundings.event_bytes

    # Actions: each gives why not, or nothing

    def _deliver(self, content: dict[str, Any]) -> str:
        here = {one.id: None for one in self.surroundings.subscribers}
        wanted = content.get("subscribers")
        if wanted is not None and not _are_texts(wanted):
            return "subscribers are a list of ids"
        chosen = here if wanted is None else dict.fromkeys(wanted)
        if unknown := [id for id in chosen if id not in here]:
            return f"{unknown[0][:80]!r} is not a matching subscriber here"
        self._delivered |= chosen
        return ""

    def _clone(self, content: dict[str, Any]) -> str:
        to = content.get("to")
        targets = content.get("targets")
        targets = [to] if targets is None else targets
        if not _are_texts(targets) or not targets or not all(one in self._targets for one in targets):
            return "a clone takes targets that the agvent has"
        if refusal := self._leave(to) or self._is_spent("clones", self._budget()["clones"]):
            return refusal
        self._clones.append(Departure(str(to), tuple(dict.fromkeys(targets))))
        for one in targets:
            self._targets.pop(one, None)
        return ""

    def _move(self, content: dict[str, Any]) -> str:
        if not self._targets:
            return "it has no targets to move for"
        if refusal := self._leave(content.get("to")):
            return refusal
        self.moving = Departure(content["to"], tuple(self._targets))
        return ""

    def _leave(self, to: object) -> str:
        if not isinstance(to, str) or to not in self._reachable:
            return f"{str(to)[:80]!r} is neither a target nor a neighbour"
        if any(clone.broker == to for clone in self._clones):
            return f"a clone goes to {to} already"
        return self._is_spent("hops", self.surroundings.budget.hops) or self._is_spent(
            "bytes", self._budget()["bytes"] // max(self.surroundings.event_bytes, 1)
        )

    def _is_spent(self, what: str, left: int) -> str:
        if left > 0:
            return ""
        refusal = SPENT[what]
        if refusal not in self._refused:
            self._refused.append(refusal)
        return refusal

    def _dispose(self, _content: dict[str, Any]) -> str:
        self.disposed = True
        return ""


SPENT: Final = {what: f"its budget of {what} is spent" for what in ("hops", "clones", "bytes", "time")}
"""Why an agvent goes no further."""


def _are_texts(values: object) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(one, str) for one in values)
