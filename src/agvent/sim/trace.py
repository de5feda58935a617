"""A run as lines of fixed columns: when, who, what, and the particulars.

0.004211  AS1   → AS2    Copies     p1:3 for AS3 AS12
"""

from __future__ import annotations

from collections.abc import Callable

from agvent.broker.interface import Append, Effect, Input, LinkDown, LinkUp, Send
from agvent.broker.records import Record
from agvent.chronicle.lifecycle import stages_of
from agvent.wire.broker_messages import Adverts, Applied, Confirm, Copies, Delta, Routed, Took
from agvent.wire.client_messages import Deliver, Publish, Subscribe
from agvent.wire.messages import AnyMessage
from agvent.wire.parts import Publication


class Trace:
    """Writes a line for each message a broker sends, each journal write, each change of a link and each fault."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write

    def _line(self, at: int, who: str, arrow: str, whom: str, what: str, detail: str) -> None:
        self._write(f"{at / 1e6:13.6f}  {who:<6} {arrow:1} {whom:<6} {what:<12} {detail}".rstrip())

    def step(self, at: int, name: str, inputs: list[Input], effects: list[Effect]) -> None:
        for given in inputs:
            if isinstance(given, (LinkUp, LinkDown)):
                self._line(at, name, "-", given.link, type(given).__name__, "")
        for effect in effects:
            if isinstance(effect, Send):
                message = effect.message
                body = message.body if isinstance(message, Routed) else message
                self._line(at, name, "→", effect.link, type(body).__name__, _shown(message))
            elif isinstance(effect, Append):
                kinds = ", ".join(type(record).__name__ for record in effect.records)
                self._line(at, name, "=", "disk", "Append", kinds)
                for record in effect.records:
                    self._stages(at, name, record)

    def _stages(self, at: int, name: str, record: Record) -> None:
        """The life cycle of an agvent that finds its own way."""
        for stage in stages_of(record):
            about = " ".join((stage.path, *stage.homes, *stage.clients, stage.reason))
            self._line(at, name, "~", stage.to, stage.what, about)

    def told(self, at: int, client: str, message: AnyMessage) -> None:
        self._line(at, client, "!", "", type(message).__name__, _shown(message))

    def fault(self, at: int, kind: str, detail: str) -> None:
        self._line(at, "******", "*", "", kind, detail)


def _shown(message: AnyMessage) -> str:
    """The particulars of a message, in a few words."""
    match message:
        case Routed(targets=targets, trace=trace, body=body, broadcast=broadcast):
            way = " ".join(broker for broker, _ in trace)
            cast = " broadcast" if broadcast else ""
            return f"to {' '.join(targets)}{cast} by {way} {_body(body)}"
        case Adverts():
            return f"{message.owner}.{message.incarnation} {message.since}..{message.version}"
        case Copies():
            homes = " ".join(f"{target.home}@{target.position}<{target.predecessor}" for target in message.targets)
            way = " ".join(broker for broker, _ in message.trace)
            return f"{_events(message.publication)} for {homes} by {way} attempt {message.attempt}"
        case Took(publisher=publisher, sequence=sequence, homes=homes):
            return f"{publisher}:{sequence} for {' '.join(homes)}"
        case Deliver():
            return f"#{message.number} {_events(message)} for {' '.join(message.subscriptions)}"
        case Publish(publication):
            return _events(publication)
        case Subscribe(request, version, subscription):
            return f"{subscription.id} version {version} request {request}"
        case _:
            return ""


def _events(one: Publication | Deliver) -> str:
    """The publisher and the sequence, of a batch from the first to the last."""
    return f"{one.publisher}:{one.sequence}" if one.count == 1 else f"{one.publisher}:{one.first}-{one.sequence}"


def _body(body: object) -> str:
    match body:
        case Delta():
            count, previous = body.number & 0xFFFFFFFF, body.previous & 0xFFFFFFFF
            changes = f"+{len(body.roots)} -{len(body.ended)}"
            return f"{body.home} #{count} after {previous} position {body.position} {changes}"
        case Applied(entry=entry, number=number, position=position, epoch=epoch):
            return f"{entry} #{number & 0xFFFFFFFF} position {position} epoch {epoch}"
        case Confirm(home=home, durable=durable, fast=fast):
            return f"{home} {dict(durable)} {dict(fast) or ''}".rstrip()
        case _:
            return ""
