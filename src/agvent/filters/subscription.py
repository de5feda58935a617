"""A subscription: who, and which events.

Type, topic and filter all have to hold. An empty filter asks for the type or topic alone (Narada §7.1.2), and a
subscription with nothing at all receives every event.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.errors import CallerError, EventError, FilterError, SubscriptionError
from agvent.event import checked
from agvent.filters.languages import language_of, parse
from agvent.filters.topics import CHANNEL, TOPIC, parse_channel, parse_pattern, parse_topic
from agvent.filters.tree import EVERYTHING, And, Attribute, Compare, Condition, IsA, Literal

ADDRESSES: Final[Mapping[str, tuple[Attribute, Callable[[str], Condition]]]] = {
    "topic": (TOPIC, parse_topic),
    "pattern": (TOPIC, parse_pattern),
    "channel": (CHANNEL, parse_channel),
}
"""The ways to address events; a subscription uses one at most. A number is compared as it is."""


class Subscription(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One standing interest: a filter, a type, a topic, a pattern of topics, a channel, or several of them.

    >>> from agvent import Subscription, Subscriptions
    >>> sports = Subscription(id="ada", filter="score > 100", pattern="Sports/#")
    >>> index = Subscriptions()
    >>> index.add(sports)
    >>> index.match({"$topic": "Sports/NBA", "score": 120})
    ['ada']

    `language` is that of the filter. `context` has the attributes of the subscriber, for publishers' filters.
    """

    id: str
    language: str = "sql"
    filter: str = ""
    type: str | None = None
    topic: str | int | None = None
    pattern: str | None = None
    channel: str | int | None = None
    context: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        _check_id(self.id)
        _check_language(self.language)
        if not isinstance(self.filter, str):
            raise SubscriptionError(f"filter must be a text, not {_shown(self.filter)}")
        for key in OPTIONAL:
            value = getattr(self, key)
            if value is not None:
                _check_optional(key, value)
        given = [key for key in ADDRESSES if getattr(self, key) is not None]
        if len(given) > 1:
            raise SubscriptionError(f"{' and '.join(given)} are given together", hint="give one of them")

    def condition(self, *, known: Collection[str] | None = None) -> Condition:
        """What an event must meet; `known` as in `parse`."""
        whole = parse(self.filter, self.language, known=known) if self.filter else EVERYTHING
        parts: list[Condition] = [IsA(self.type)] if self.type is not None else []
        parts += [self._addressed(key) for key in ADDRESSES if getattr(self, key) is not None]
        if not parts:
            return whole
        parts += whole.parts if isinstance(whole, And) else [whole]
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _addressed(self, key: str) -> Condition:
        attribute, parse_text = ADDRESSES[key]
        address = getattr(self, key)
        if isinstance(address, int):
            return Compare("=", attribute, Literal(address))
        try:
            return parse_text(address)
        except FilterError as error:
            raise FilterError(f"{key}: {error.message}", error.text, error.position, hint=error.hint) from None


OPTIONAL: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "type": ((str,), "the name of a type"),
    "topic": ((str, int), "a text or an integer"),
    "pattern": ((str,), "a text"),
    "channel": ((str, int), "a text or an integer"),
    "context": ((Mapping,), "an object"),
}


def _check_optional(key: str, value: Any) -> None:
    allowed, expected = OPTIONAL[key]
    if not isinstance(value, allowed) or isinstance(value, bool):
        raise SubscriptionError(f"{key} must be {expected}, not {_shown(value)}")
    if key == "type" and not value:
        raise SubscriptionError("type is empty", hint="leave it out for events of every type")
    _check_value(key, value)


def _check_id(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise SubscriptionError(f"id must be a text that is not empty, not {_shown(name)}")
    if len(name) > limits.ID_CHARS_MAX:
        raise SubscriptionError(f"the id has {len(name)} characters, at most {limits.ID_CHARS_MAX} are allowed")
    if not name.isascii():
        _check_value("id", name)


def _check_language(name: str) -> None:
    try:
        language_of(name)
    except CallerError as error:
        raise SubscriptionError(f"language: {error.message}", hint=error.hint) from None


def _check_value(key: str, value: Any) -> None:
    """Refuses what no event could carry either, such as a lone surrogate."""
    try:
        checked(value, (key,))
    except EventError as error:
        raise SubscriptionError(error.message, hint=error.hint) from None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"


def subscription_of(source: Mapping[str, Any]) -> Subscription:
    """A subscription from one decoded line; keys that mean nothing here are ignored.

    >>> subscription_of({"id": "s1", "filter": "pages > 200", "note": "mine"}).filter
    'pages > 200'
    """
    if not isinstance(source, Mapping):
        raise SubscriptionError(f"a subscription is an object, not {_shown(source)}")
    if "id" not in source:
        raise SubscriptionError("the subscription has no id", hint='write {"id": "s1", "filter": "pages > 200"}')
    return Subscription(**{key: source[key] for key in FIELDS if key in source})


FIELDS: Final = Subscription.__struct_fields__
