"""A type as a table for people: attributes, then behaviours (seed 002, figure 5)."""

from __future__ import annotations

from agvent.types import AdvertisedAttribute, AdvertisedBehaviour, AgventType


def table_of(type_: AgventType) -> str:
    """Name, kind and description of each attribute and behaviour, and of each parameter that has one."""
    rows = [(attribute.name, kind_of(attribute), attribute.description) for attribute in type_.attributes]
    for behaviour in type_.behaviours:
        kind = f"{behaviour.returns}, opaque" if behaviour.opaque else behaviour.returns
        rows.append((call_of(behaviour), kind, behaviour.description))
        rows += [(f"    {one.name}", "", one.description) for one in behaviour.parameters if one.description]
    widths = [max((len(row[column]) for row in rows), default=0) for column in (0, 1)]
    lines = [
        f"  {name:<{widths[0]}}  {kind:<{widths[1]}}  {' '.join(text.split())}".rstrip() for name, kind, text in rows
    ]
    ancestors = f" ({', '.join(type_.ancestors)})" if type_.ancestors else ""
    title = f"{type_.name}{ancestors}: {' '.join(type_.description.split())}".removesuffix(": ")
    return "\n".join([title, *lines])


def kind_of(attribute: AdvertisedAttribute) -> str:
    """`float[3]` is a list of three, `str?` may be missing."""
    kind = attribute.kind
    if attribute.length:
        kind = f"{kind.removeprefix('list[').removesuffix(']')}[{attribute.length}]"
    return f"{kind}?" if attribute.optional else kind


def call_of(behaviour: AdvertisedBehaviour) -> str:
    """A behaviour as a filter calls it, with the kinds of its parameters."""
    inner = ", ".join(f"{parameter.name}: {parameter.kind}" for parameter in behaviour.parameters)
    return f"{behaviour.name}({inner})"
