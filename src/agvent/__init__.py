"""Agvent: content-based publish/subscribe. This file is the front door and holds only names.

The module of a name is imported when the name is first used, so `import agvent` is quick: NumPy, Numba and pyarrow are
imported with `Subscriptions`, not before.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agvent.agents.authoring.agvent import Agvent, Opaque, Sealed
    from agvent.errors import (
        AgventError,
        CallerError,
        EnvironmentFault,
        EventError,
        FilterError,
        SubscriptionError,
        TranslationError,
    )
    from agvent.event import Event, EventId
    from agvent.event_json import decode_event
    from agvent.filters.evaluate import evaluate
    from agvent.filters.explain import Explanation, explain
    from agvent.filters.languages import format_filter, parse
    from agvent.filters.relations import covers, overlaps
    from agvent.filters.subscription import Subscription
    from agvent.matching.matches import Matches
    from agvent.matching.subscriptions import Subscriptions
    from agvent.net.client.connect import connect
    from agvent.net.fleet.local import local_broker
    from agvent.store.index_file import load_index, save_index
else:
    _HOMES = {
        "Agvent": "agvent.agents.authoring.agvent",
        "AgventError": "agvent.errors",
        "CallerError": "agvent.errors",
        "EnvironmentFault": "agvent.errors",
        "Event": "agvent.event",
        "EventError": "agvent.errors",
        "EventId": "agvent.event",
        "Explanation": "agvent.filters.explain",
        "FilterError": "agvent.errors",
        "Matches": "agvent.matching.matches",
        "Opaque": "agvent.agents.authoring.agvent",
        "Sealed": "agvent.agents.authoring.agvent",
        "Subscription": "agvent.filters.subscription",
        "SubscriptionError": "agvent.errors",
        "Subscriptions": "agvent.matching.subscriptions",
        "TranslationError": "agvent.errors",
        "connect": "agvent.net.client.connect",
        "covers": "agvent.filters.relations",
        "decode_event": "agvent.event_json",
        "evaluate": "agvent.filters.evaluate",
        "explain": "agvent.filters.explain",
        "format_filter": "agvent.filters.languages",
        "load_index": "agvent.store.index_file",
        "local_broker": "agvent.net.fleet.local",
        "overlaps": "agvent.filters.relations",
        "parse": "agvent.filters.languages",
        "save_index": "agvent.store.index_file",
    }

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module 'agvent' has no attribute {name!r}")
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


__all__ = [
    "Agvent",
    "AgventError",
    "CallerError",
    "EnvironmentFault",
    "Event",
    "EventError",
    "EventId",
    "Explanation",
    "FilterError",
    "Matches",
    "Opaque",
    "Sealed",
    "Subscription",
    "SubscriptionError",
    "Subscriptions",
    "TranslationError",
    "connect",
    "covers",
    "decode_event",
    "evaluate",
    "explain",
    "format_filter",
    "load_index",
    "local_broker",
    "overlaps",
    "parse",
    "save_index",
]
