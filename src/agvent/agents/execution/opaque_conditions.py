"""Conditions on opaque attributes are decided inside the sandbox: what comes out is true, false or unknown.

A call of `holds` has the text of a condition. It is evaluated here, as the oracle does it everywhere; the values it
needs come from the programs and go no further.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from agvent.agents.execution.answers import Answers
from agvent.agents.execution.sandbox import Task
from agvent.errors import FilterError, WireError
from agvent.event import Event
from agvent.filters.evaluate import HOLDS, evaluate
from agvent.filters.sql import parse_sql
from agvent.filters.tree import Condition
from agvent.wire.codec import decode_event
from agvent.wire.parts import Answered, BehaviourCall

Inner = Callable[[Sequence[Task], bool], list[tuple[Answered, ...]]]
"""Runs tasks; the second argument says whether their answers stay inside."""

_condition = lru_cache(4096)(parse_sql)


def run_inside(tasks: Sequence[Task], run: Inner) -> list[tuple[Answered, ...]]:
    """The answers of all tasks, those of `holds` among them."""
    if not any(call.name == HOLDS for task in tasks for call in task.calls):
        return run(tasks, False)
    plain = [Task(task.principal, task.event, tuple(c for c in task.calls if c.name != HOLDS)) for task in tasks]
    asking = [_Asking(task) for task in tasks]
    while waiting := [one for one in asking if one.missing()]:
        for one, answers in zip(waiting, run([one.task() for one in waiting], True), strict=True):
            one.answered(answers)
    return [one.merged(answers) for one, answers in zip(asking, run(plain, False), strict=True)]


class _Asking:
    """The conditions that are asked of one agvent, and the answers they have so far."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._outcomes: dict[int, tuple[bool | None, str]] = {}  # by the place of the call in the task
        self._conditions: dict[int, Condition] = {}
        self._answers = Answers()
        for place, call in enumerate(task.calls):
            if call.name == HOLDS:
                self._read(place, call)
        self._event = self._opened() if self._conditions else Event()

    def _read(self, place: int, call: BehaviourCall) -> None:
        text: Any = call.args[0] if len(call.args) == 1 else None
        try:
            if not isinstance(text, str):
                raise FilterError("holds takes the text of a condition", "", 0)
            self._conditions[place] = _condition(text)
        except FilterError as error:
            self._outcomes[place] = None, error.message

    def _opened(self) -> Event:
        try:
            return decode_event(self._task.event)
        except WireError as error:
            self._outcomes |= dict.fromkeys(self._conditions, (None, error.message))
            self._conditions.clear()
            return Event()

    def missing(self) -> bool:
        """Evaluates; does it need more answers?"""
        for place, condition in self._conditions.items():
            outcome = evaluate(condition, self._event, self._answers)
            faults = [one.fault for one in self._answers.known if one.fault]
            self._outcomes[place] = outcome, faults[0] if outcome is None and faults else ""
        return bool(self._answers.missing)

    def task(self) -> Task:
        return Task(self._task.principal, self._task.event, tuple(self._answers.missing.values()))

    def answered(self, more: tuple[Answered, ...]) -> None:
        self._answers = Answers((*self._answers.known, *more))

    def merged(self, plain: tuple[Answered, ...]) -> tuple[Answered, ...]:
        """All answers in the order of the calls."""
        rest = iter(plain)
        return tuple(
            Answered(call, *self._outcomes[place]) if call.name == HOLDS else next(rest)
            for place, call in enumerate(self._task.calls)
        )
