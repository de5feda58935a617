"""A broker's figures in Prometheus' text form. docs/network.md lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

COUNTERS: Final = {
    "events_entered": "Durable events that entered here.",
    "events_arrived": "Durable events that arrived here as their home.",
    "deliveries_queued": "Deliveries queued for this broker's clients.",
    "acknowledgements": "Acknowledgements that clients gave, each for one or more deliveries.",
    "gaps": "Gap notices made because a client's queue was full.",
    "agvents_admitted": "Agvents that subscribers of this broker let in.",
    "agvents_refused": "Agvents that were not let in.",
    "copies_came": "Copies that came from neighbours.",
    "copies_sent": "Copies sent to neighbours, repeats included.",
    "refused": "Messages of neighbours, and parts of them, that nobody could carry out.",
    "oversized": "Messages that were larger than may be sent, and were not.",
    "held": "Times that a client was not read for a while, because its principal had said too much.",
    "groups": "Groups of records synced to the journal.",
    "records": "Records written to the journal.",
    "steps": "Steps of the state machine.",
    "step_microseconds": "Time spent in steps.",
}

GAUGES: Final = {
    "up_s": ("up_seconds", "Time since the start."),
    "subscriptions": ("subscriptions", "Subscriptions of this broker's clients."),
    "custody": ("custody_events", "Events this broker answers for."),
    "epoch": ("epoch", "Changes of subscriptions applied."),
    "journal_bytes": ("journal_bytes", "Size of the journal on disk."),
}

FAST_LOST: Final = ("retention", "quota", "crash")
"""Why fast events are lost: their home was away for too long, their client was, their entry crashed."""

LINKS: Final = {
    "rtt_us": ("link_rtt_microseconds", "Measured round trip."),
    "queued": ("link_queued_messages", "Messages that wait for the link."),
    "untaken": ("link_untaken_copies", "Copies sent that the neighbour has not taken."),
}


def prometheus(status: dict[str, Any]) -> str:
    """A status as the text that Prometheus reads.

    >>> status = {"links": [], "clients": [], "counts": {"groups": 3}, "disk_full": "", "epoch": 7}
    >>> [line for line in prometheus(status).splitlines() if line.startswith("agvent_epoch")]
    ['agvent_epoch 7']
    """
    return "".join(f"{line}\n" for line in _lines(status))


def _lines(status: dict[str, Any]) -> Iterator[str]:
    for key, help in COUNTERS.items():
        yield from _metric(f"{key}_total", "counter", help, [("", status["counts"].get(key, 0))])
    lost = status.get("fast_lost", {})
    by_reason = [(f'{{reason="{reason}"}}', lost.get(reason, 0)) for reason in FAST_LOST]
    yield from _metric(
        "fast_events_lost_total", "counter", "Fast events that this broker lost; with a crash, at most.", by_reason
    )
    for key, (name, help) in GAUGES.items():
        yield from _metric(name, "gauge", help, [("", status.get(key, 0))])
    attached = sum(client["attached"] for client in status["clients"])
    waiting = sum(client["waiting"] for client in status["clients"])
    yield from _metric("clients_attached", "gauge", "Clients that are attached now.", [("", attached)])
    yield from _metric("deliveries_waiting", "gauge", "Deliveries not yet acknowledged.", [("", waiting)])
    yield from _metric("disk_full", "gauge", "1 while the journal has no room.", [("", int(bool(status["disk_full"])))])
    links = [(f'{{neighbour="{_escaped(link["neighbour"])}"}}', link) for link in status["links"]]
    up = [(label, int(link["state"] == "up")) for label, link in links]
    yield from _metric("link_up", "gauge", "1 while the link can be used.", up)
    for key, (name, help) in LINKS.items():
        yield from _metric(name, "gauge", help, [(label, link[key]) for label, link in links])


def _metric(name: str, kind: str, help: str, values: list[tuple[str, int]]) -> Iterator[str]:
    yield f"# HELP agvent_{name} {help}"
    yield f"# TYPE agvent_{name} {kind}"
    for label, value in values:
        yield f"agvent_{name}{label} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
