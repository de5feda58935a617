"""The options of a match, and which of them a kind of events takes."""

from __future__ import annotations

from typing import Final

import msgspec

from agvent.errors import CallerError

MEANINGS: Final = {
    "event": "names a column of a DataFrame or of Parquet",
    "keep": "names columns of a DataFrame, of Parquet or of an event log",
    "skip_rejected": "is for the lines of JSON Lines",
    "hosts_key": "is for the agvents of an event log",
}
"""The options that not every kind of events takes, and what each is for."""


class MatchOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What `match` was asked for beside events and subscriptions; `match` says what each option means."""

    event: str | None = None
    keep: tuple[str, ...] = ()
    complaints: bool = False
    skip_rejected: bool = False
    hosts_key: str | None = None
    shared: str | None = None

    def check(self, kind: str, *taken: str) -> None:
        """Refuses the options that this kind of events does not take."""
        for name, meaning in MEANINGS.items():
            if name not in taken and getattr(self, name):
                raise CallerError(f"the option {name} does not apply to {kind}: it {meaning}")
        if self.skip_rejected and not self.complaints:
            raise CallerError(
                "skip_rejected is given without complaints=True", hint="a skipped line is a row with a complaint"
            )
