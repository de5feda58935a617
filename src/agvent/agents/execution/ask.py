"""Filters that call behaviours, put to many agvents at once: match, run what was asked, match again.

In the broker a step and its effects do this; here it is for whoever has a sandbox at hand and may wait for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import msgspec

from agvent.agents.execution.answers import Answers, Questions
from agvent.agents.execution.sandbox import Sandbox, Task
from agvent.wire.codec import decode_visitor

T = TypeVar("T")


class AskedAgvent(msgspec.Struct, frozen=True, gc=False):
    """An agvent, as the bytes of its event, and who published it."""

    publisher: str
    event: bytes


def asked(
    came: Sequence[AskedAgvent], judge: Callable[[int, Answers], T], sandbox: Sandbox
) -> tuple[list[T], list[Answers]]:
    """What `judge` says of each agvent, by number, once all that it calls is answered; and the answers it went by.

    An answer may lead to another question, as in `twice(twice(price))`, so there is a round for each level of calls.
    """
    cargoes = [decode_visitor(one.event).cargo for one in came]
    answers: list[Answers] = [Questions((), cargo) for cargo in cargoes]
    found: dict[int, T] = {}
    while len(found) < len(came):
        waiting = []
        for number in range(len(came)):
            if number not in found:
                judged = judge(number, answers[number])
                if answers[number].missing:
                    waiting.append(number)
                else:
                    found[number] = judged
        tasks = [
            Task(came[number].publisher, came[number].event, tuple(answers[number].missing.values()))
            for number in waiting
        ]
        for number, more in zip(waiting, sandbox.run(tasks) if tasks else [], strict=True):
            answers[number] = Questions((*answers[number].known, *more), cargoes[number])
    return [found[number] for number in range(len(came))], answers
