"""What publishers may say and the log cannot hold: the log goes on without it, and counts it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from agvent.chronicle.log_names import moment
from agvent.errors import LogError
from agvent.event import Event
from agvent.store.log_reader import event_folder

LAST: Final = 253_402_300_800_000_000
"""Microseconds from 1970 to the end of the year 9999, the last that a timestamp has."""


def objection(event: Event) -> str:
    """Why an event cannot be a row of the log; empty if it can."""
    try:
        event_folder(event.type, "")
    except LogError as error:
        return error.message
    return ""


def end_of(expires: int) -> datetime | None:
    """When an event expires; None: never, or after the last moment that the log has."""
    return moment(expires) if 0 < expires < LAST else None
