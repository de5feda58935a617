"""A broker's metrics in the text format of Prometheus. docs/reference/metrics.md lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

COUNTERS: Final = {
    "events_entered": "Durable events published at this broker.",
    "events_arrived": "Durable events that arrived here as the home of a subscriber.",
    "deliveries_queued": "Deliveries added to the queues of this broker's clients.",
    "acknowledgements": "Acknowledgements from clients, each for one or more deliveries.",
    "gap_notices": "Gap notices created because a client's queue was full.",
    "agvents_admitted": "Agvents that subscribers of this broker admitted.",
    "agvents_rejected": "Agvents that were not admitted.",
    "copies_received": "Copies received from neighbours.",
    "copies_sent": "Copies sent to neighbours, including repeats.",
    "messages_rejected": "Messages from neighbours, or parts of them, that were rejected.",
    "messages_too_large": "Messages that were not sent because they exceed the size limit.",
    "reads_throttled": "Times that reading from a client was paused because its principal exceeded its rate limit.",
    "journal_groups": "Groups of records synced to the journal.",
    "journal_records": "Records written to the journal.",
    "steps": "Steps of the state machine.",
    "step_microseconds": "Time spent in steps, in microseconds.",
}

GAUGES: Final = {
    "uptime_s": ("uptime_seconds", "Time since the process started."),
    "subscriptions": ("subscriptions", "Subscriptions of this broker's clients."),
    "custody": ("custody_events", "Events in this broker's custody."),
    "epoch": ("epoch", "Subscription changes applied."),
    "journal_bytes": ("journal_bytes", "Size of the journal on disk."),
}

FAST_LOST: Final = ("retention", "quota", "crash")
"""Why fast events are lost: their home or their client was away for too long, or their entry crashed."""

LINKS: Final = {
    "rtt_us": ("link_rtt_microseconds", "Measured round-trip time."),
    "queued": ("link_queued_messages", "Messages queued for the link."),
    "unacknowledged": ("link_unacknowledged_copies", "Copies sent that the neighbour has not acknowledged."),
}


def prometheus(status: dict[str, Any]) -> str:
    """A status as the text that Prometheus reads.

    >>> status = {"links": [], "clients": [], "counts": {"journal_groups": 3}, "disk_full": "", "epoch": 7}
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
        "fast_events_lost_total",
        "counter",
        "Fast events lost here; an upper bound after a crash.",
        by_reason,
    )
    for key, (name, help) in GAUGES.items():
        yield from _metric(name, "gauge", help, [("", status.get(key, 0))])
    attached = sum(client["attached"] for client in status["clients"])
    queued = sum(client["queued"] for client in status["clients"])
    yield from _metric("clients_attached", "gauge", "Clients that are attached.", [("", attached)])
    yield from _metric("deliveries_unacknowledged", "gauge", "Deliveries not acknowledged yet.", [("", queued)])
    yield from _metric(
        "disk_full", "gauge", "1 while the journal's disk is full.", [("", int(bool(status["disk_full"])))]
    )
    links = [(f'{{neighbour="{_escaped(link["neighbour"])}"}}', link) for link in status["links"]]
    up = [(label, int(link["state"] == "up")) for label, link in links]
    yield from _metric("link_up", "gauge", "1 while the link is up.", up)
    for key, (name, help) in LINKS.items():
        yield from _metric(name, "gauge", help, [(label, link[key]) for label, link in links])


def _metric(name: str, kind: str, help: str, values: list[tuple[str, int]]) -> Iterator[str]:
    yield f"# HELP agvent_{name} {help}"
    yield f"# TYPE agvent_{name} {kind}"
    for label, value in values:
        yield f"agvent_{name}{label} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
