"""An agvent that a subscriber lets in: what its home says of its arrival, and the calls that its home carries out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from agvent.agents.execution.received_agvent import ReceivedAgvent
from agvent.errors import AdmissionError, CallerError
from agvent.event import Event
from agvent.wire.client_messages import Deliver
from agvent.wire.host_messages import Admit, Admitted, Dispose, ForHost, Invoke, Invoked
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Answered, BehaviourCall

AskHost = Callable[[ForHost], asyncio.Future[AnyMessage]]
"""Asks the sandbox host beside the subscriber's home."""


class Admission:
    """Asked for when the delivery comes; `wait` returns when the agvent has arrived, or was refused."""

    def __init__(self, ask: AskHost, message: Deliver, subscription: str) -> None:
        self._ask = ask
        self._message = message
        self._answer = ask(Admit(0, message.number, message.fast, subscription))
        self._answer.add_done_callback(lambda answer: answer.cancelled() or answer.exception())  # wait() may never come

    async def wait(self) -> None:
        try:
            answer = await asyncio.shield(self._answer)
        except CallerError as error:
            self.messages, self.refusal = (), error.message
            return
        assert isinstance(answer, Admitted)
        self._type, self.messages, self.refusal = answer.type, answer.told, answer.refusal

    def received(self, event: Event) -> ReceivedAgvent:
        """The agvent as its subscriber holds it; an AdmissionError if it was not let in."""
        if self.refusal:
            raise AdmissionError(f"the agvent was not admitted: {self.refusal}")
        return ReceivedAgvent(event, self._type, self._call)

    async def _call(self, call: BehaviourCall) -> Answered:
        one = self._message
        answer = await self._ask(
            Invoke(request=0, publisher=one.publisher, sequence=one.sequence, fast=one.fast, call=call)
        )
        assert isinstance(answer, Invoked)
        return answer.answered

    async def dispose(self) -> None:
        await self._ask(Dispose(0, self._message.publisher, self._message.sequence, self._message.fast))
