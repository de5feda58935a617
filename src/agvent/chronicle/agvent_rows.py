"""Rows of what an event carries beside its attributes: code, cargo, answers, its route's decisions, a document."""

from __future__ import annotations

from typing import Final

from agvent.broker.records import Accepted, Outcome, Visited
from agvent.chronicle.lifecycle import shown
from agvent.chronicle.log_names import event_key, moment, public
from agvent.chronicle.log_rows import Row
from agvent.errors import TranslationError
from agvent.event import Cargo, Event
from agvent.filters.sql_format import format_expression
from agvent.filters.tree import Attribute, Call, Literal
from agvent.store.values import encode_value
from agvent.wire.broker_messages import Entry
from agvent.wire.parts import Answered, Publication

NULL: Final = Attribute(("null",))


def program_row(broker: str, entry: Entry, at: int) -> Row:
    return {
        "program": entry.type.program,
        "publisher": entry.publisher,
        "broker": broker,
        "code": entry.code,
        "brought_at": moment(at),
    }


def cargo_row(broker: str, publication: Publication, cargo: Cargo, at: int) -> Row:
    return {
        **event_key(publication),
        "entry_broker": broker,
        "program": cargo.program,
        "hidden": cargo.hidden or None,
        "sealed": cargo.sealed or None,
        "opaque": list(cargo.opaque) or None,
        "accepted_at": moment(at),
    }


def answer_row(broker: str, publication: Publication, answered: Answered, at: int) -> Row | None:
    """A behaviour's answer; None if the call has no words in the log."""
    text = _call_text(answered)
    if text is None:
        return None
    return {
        **event_key(publication),
        "entry_broker": broker,
        "call": text,
        "result": None if answered.fault else encode_value(answered.value),
        "fault": answered.fault or None,
        "called_at": moment(at),
    }


def route_row(broker: str, record: Accepted | Visited, outcome: Outcome) -> Row:
    """What an agvent's own route decided at a stop."""
    decided = {
        "delivered": [public(key) for _, versions in outcome.deliveries for key, _ in versions],
        "legs": {shown(leg.path): [leg.to, *(target.home for target in leg.targets)] for leg in outcome.legs},
        "declined": list(outcome.declined),
        "returned": list(outcome.returned),
    }
    return {
        **event_key(record.publication),
        "entry_broker": broker,
        "call": "route()",
        "result": encode_value(decided),
        "fault": outcome.fault or None,
        "called_at": moment(record.at),
    }


def document_row(broker: str, publication: Publication, event: Event, at: int) -> Row:
    """A document that was given to a librarian: its version is its place among its owner's events."""
    return {
        "document": f"{publication.publisher}/{event.attributes.get('document', '')}",
        "version": publication.sequence,
        "owner": publication.publisher,
        "broker": broker,
        "realm": str(event.attributes.get("realm", "")),
        "xml": event.xml,
        "stored_at": moment(at),
    }


def _call_text(answered: Answered) -> str | None:
    """The call as SQL; None if one of its arguments has no words there: a list, an object, bytes. A null is what an
    attribute is that no event has."""
    args = tuple(NULL if value is None else Literal(value) for value in answered.call.args)
    try:
        return format_expression(Call(answered.call.name, args))
    except TranslationError:
        return None
