"""Advertisements as rows and as XML, so that queries in SQL and XPath find them (Narada §7.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from lxml import etree

from agvent.store.event_columns import promoted
from agvent.types import Advertisement, AgventType


def type_row(advertisement: Advertisement, change: str) -> dict[str, Any]:
    """The row of `types`; `change` is `advertise` or `unadvertise`."""
    type_ = advertisement.type
    return {
        "type": type_.name,
        "schema": type_.schema,
        "ancestors": list(type_.ancestors),
        "description": type_.description,
        "publisher": advertisement.publisher,
        "broker": advertisement.broker,
        "realm": advertisement.realm,
        "change": change,
        "definition": msgspec.json.encode(type_).decode(),
        "xml": advertisement_xml(advertisement),
        "advertised_at": advertisement.advertised_at,
    }


def attribute_rows(type_: AgventType) -> list[dict[str, Any]]:
    """The rows of `type_attributes`."""
    columns = {one.attribute: one.column for one in promoted(type_)}
    return [
        {
            "type": type_.name,
            "schema": type_.schema,
            "attribute": attribute.name,
            "kind": attribute.kind,
            "column": columns.get(attribute.name),
            "description": attribute.description,
        }
        for attribute in type_.attributes
    ]


def behaviour_rows(type_: AgventType) -> list[dict[str, Any]]:
    """The rows of `type_behaviours`."""
    return [
        {
            "type": type_.name,
            "schema": type_.schema,
            "behaviour": behaviour.name,
            "returns": behaviour.returns,
            "description": behaviour.description,
            "parameters": [msgspec.structs.asdict(parameter) for parameter in behaviour.parameters],
        }
        for behaviour in type_.behaviours
    ]


def advertisement_xml(advertisement: Advertisement) -> str:
    """The XML form of docs/reference/event-log.md. A description loses control characters, which XML cannot have."""
    type_ = advertisement.type
    root = etree.Element(
        "advertisement",
        type=_sayable(type_.name),
        schema=type_.schema,
        publisher=_sayable(advertisement.publisher),
        broker=_sayable(advertisement.broker),
        realm=_sayable(advertisement.realm),
    )
    _described(root, type_.description)
    for ancestor in type_.ancestors:
        etree.SubElement(root, "ancestor").text = _sayable(ancestor)
    for attribute in type_.attributes:
        element = etree.SubElement(root, "attribute", name=_sayable(attribute.name), kind=attribute.kind)
        element.text = _sayable(attribute.description) or None
    for behaviour in type_.behaviours:
        element = etree.SubElement(root, "behaviour", name=_sayable(behaviour.name), returns=behaviour.returns)
        _described(element, behaviour.description)
        for parameter in behaviour.parameters:
            inner = etree.SubElement(element, "parameter", name=_sayable(parameter.name), kind=parameter.kind)
            inner.text = _sayable(parameter.description) or None
    return str(etree.tostring(root, encoding="unicode"))


def _described(element: Any, description: str) -> None:
    if description:
        etree.SubElement(element, "description").text = _sayable(description)


def _sayable(text: str) -> str:
    return "".join(c for c in text if c in "\t\n\r" or (c >= " " and c not in "\ufffe\uffff"))


def types_of(rows: Iterable[dict[str, Any]]) -> dict[tuple[str, str], AgventType]:
    """Every type and version that was ever advertised; of several of one hash, the last description."""
    return {(row["type"], row["schema"]): msgspec.json.decode(row["definition"], type=AgventType) for row in rows}
