"""Brokers with one deliberate mistake each in what they say to clients."""

from __future__ import annotations

from typing import Any

import msgspec

from agvent.broker.notices import TypesGone
from agvent.broker.pending import DeliverQueues
from agvent.errors import CallerError
from agvent.wire.broker_messages import Entry
from agvent.wire.client_messages import Done, Refused
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


class TellsTypesGone(Broken):
    """Says that a type is gone whenever one of its publishers goes."""

    def spoil(self) -> None:
        change = self.gossip.change

        def talkative(entry: Entry | None, **options: Any) -> int:
            if entry is not None and not entry.live:
                self.out.notify(TypesGone((entry.type.name,)))
            return change(entry, **options)

        self.gossip.change = talkative  # type: ignore[method-assign]


class KeepsTypesToItself(Broken):
    """Tells nobody that a type is gone."""

    def spoil(self) -> None:
        self.clients._tell_gone_types = lambda types: None  # type: ignore[method-assign]


class PushesOutForAWhile(Broken):
    """Tells a process in whose place another one has come that it may come again."""

    def spoil(self) -> None:
        send = self.out.send

        def soft(link: str, message: Any) -> None:
            if isinstance(message, Refused) and message.final:
                message = msgspec.structs.replace(message, final=False)
            send(link, message)

        self.out.send = soft  # type: ignore[method-assign]
