"""Brokers with one deliberate mistake each in what they say to clients."""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.broker.pending import DeliverQueues
from agvent.errors import CallerError
from agvent.wire.client_messages import Done
from tests.sim.broken import Broken


class AnswersTwice(Broken):
    """Says Done again."""

    def spoil(self) -> None:
        send = self.out.send

        def twice(link: str, message: Any) -> None:
            send(link, message)
            if isinstance(message, Done):
                send(link, message)

        self.out.send = twice  # type: ignore[method-assign]


class DeniesWhatWasHad(Broken):
    """Says of each subscription that ends that there was none."""

    def spoil(self) -> None:
        done = self.clients._done

        def deny(link: str, request: int, *, had: bool = True) -> None:
            done(link, request, had=False)

        self.clients._done = deny  # type: ignore[method-assign]


class RefusesAType(Broken):
    """Whether or not it was advertised."""

    def spoil(self) -> None:
        def check(publisher: str, type: str, ancestors: tuple[str, ...]) -> None:
            if type == "Trade":
                raise CallerError("not today")

        self.clients.publishing._check_type = check  # type: ignore[method-assign]


class ExpiresEarly(Broken):
    """Takes events for expired ten seconds before they are."""

    def spoil(self) -> None:
        deliver = self.clients.deliver

        def hasty(work: DeliverQueues) -> None:
            deliver(msgspec.structs.replace(work, at=work.at + 10_000_000))

        self.out.works = {**self.out.works, DeliverQueues: hasty}
