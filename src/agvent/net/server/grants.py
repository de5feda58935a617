"""What a principal may do: grants, and whether a message lies wholly inside them.

A grant is an action and what it is about: `publish topic:Sports/#`, `subscribe type:Book`, `advertise type:Book`,
`code type:Book` (to bring the program of that type), `administer *`. `*` is everything. An event's type, each of its
ancestors, its topic and its channel must all be granted, because a subscription may ask for any of them. A subscription
must be covered by one grant as a filter covers another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from agvent.errors import CallerError, DeniedError
from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.relations import covers
from agvent.filters.subscription import Subscription
from agvent.filters.topics import parse_channel, parse_pattern
from agvent.filters.tree import EVERYTHING, Condition, IsA
from agvent.types import AgventType

ACTIONS: Final = ("advertise", "code", "publish", "subscribe", "administer")
EVERYTHING_ABOUT: Final = "*"
MAKE: Final = {"type": IsA, "topic": parse_pattern, "channel": parse_channel}


class Grant(msgspec.Struct, frozen=True):
    """One grant; `kind` is type, topic, channel or * for everything."""

    action: str
    kind: str
    condition: Condition
    text: str


def grant_of(text: str) -> Grant:
    """A grant from its text.

    >>> grant_of("subscribe topic:Sports/#").kind
    'topic'
    """
    action, _, about = text.strip().partition(" ")
    kind, _, value = about.strip().partition(":")
    is_narrow = action != "administer" and kind in MAKE and value
    if action not in ACTIONS or not (about == EVERYTHING_ABOUT or is_narrow):
        raise CallerError(
            f"{text!r} is not a grant", hint="such as: publish topic:Sports/#, subscribe type:Book, administer *"
        )
    condition = EVERYTHING if about == EVERYTHING_ABOUT else MAKE[kind](value)
    return Grant(action, EVERYTHING_ABOUT if about == EVERYTHING_ABOUT else kind, condition, text.strip())


class Grants:
    """All grants of a principal."""

    def __init__(self, texts: Sequence[str], principal: str) -> None:
        self._principal = principal
        self._grants = [grant_of(text) for text in texts]
        self._free = {grant.action for grant in self._grants if grant.kind == EVERYTHING_ABOUT}

    def _of(self, action: str, kind: str) -> list[Grant]:
        return [grant for grant in self._grants if grant.action == action and grant.kind == kind]

    def check_advertise(self, type: AgventType) -> None:
        self._check_types("advertise", (type.name, *type.ancestors))

    def check_code(self, type: AgventType) -> None:
        """May it bring the program of this type?"""
        self._check_types("code", (type.name,))

    def check_publish(self, event: Event) -> None:
        if "publish" in self._free:
            return
        if event.type is None and event.topic is None and event.channel is None:
            raise self._denied("publish *")
        if event.type is not None:
            self._check_types("publish", (event.type, *event.ancestors))
        for kind, value in (("topic", event.topic), ("channel", event.channel)):
            if value is not None and not any(evaluate(one.condition, event) for one in self._of("publish", kind)):
                raise self._denied(f"publish {kind}:{value}")

    def _check_types(self, action: str, names: tuple[str, ...]) -> None:
        if action not in self._free:
            for name in names:
                if not any(grant.condition == IsA(name) for grant in self._of(action, "type")):
                    raise self._denied(f"{action} type:{name}")

    def check_subscribe(self, subscription: Subscription) -> None:
        if "subscribe" in self._free:
            return
        condition = subscription.condition()
        if not any(covers(grant.condition, condition) for grant in self._grants if grant.action == "subscribe"):
            raise self._denied(f"subscribe {_about(subscription)}")

    def check_administer(self) -> None:
        if "administer" not in self._free:
            raise self._denied("administer *")

    def _denied(self, grant: str) -> DeniedError:
        return DeniedError(f"{self._principal!r} has no grant `{grant}`")


def _about(subscription: Subscription) -> str:
    """The grant that would allow it, as far as its address says."""
    for kind, value in (
        ("type", subscription.type),
        ("topic", subscription.pattern or subscription.topic),
        ("channel", subscription.channel),
    ):
        if value is not None:
            return f"{kind}:{value}"
    return EVERYTHING_ABOUT


ALL: Final = Grants([f"{action} *" for action in ACTIONS], "")
