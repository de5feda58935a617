"""`connect`: a client for a program that waits with `async with`, or for a script with `with`."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from agvent.net.address import addresses_of
from agvent.net.client import Client
from agvent.net.config import check_name
from agvent.net.introduction import GUEST
from agvent.net.script import ScriptClient
from agvent.net.tls import Credentials

FAILOVER_SECONDS = 10.0
"""How long a client waits for its home: a broker that is restarted is back in less."""


class Connecting:
    """What `connect` gives: enter it with `async with` or with `with`."""

    def __init__(self, client: dict[str, Any]) -> None:
        self._options = client

    async def __aenter__(self) -> Client:
        self._client = Client(**self._options)
        return await self._client.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await self._client.__aexit__(*error)

    def __enter__(self) -> ScriptClient:
        self._script = ScriptClient(self._options)
        return self._script.__enter__()

    def __exit__(self, *error: object) -> None:
        self._script.__exit__(*error)


def connect(
    brokers: str = "127.0.0.1",
    *,
    name: str = "",
    context: Mapping[str, Any] | None = None,
    failover_s: float = FAILOVER_SECONDS,
    credentials: Credentials | None = None,
    principal: str = "",
    keys: Path | None = None,
    log: str | os.PathLike[str] | None = None,
) -> Connecting:
    """A client of a broker network. `brokers` is an address or several with commas: `agvent://host:port`.

    With a `name` it is the same client as every process of that name before it: its subscriptions stand, and what they
    were sent since waits for it. Without one it is a guest, and leaves nothing behind. `context` is what it says about
    itself to publishers. A home that is away for `failover_s` is left for another broker of the list. `credentials` are
    for brokers that ask who it is; a guest then says whose guest it is: the `principal` of its certificate or token.
    `keys` is a file for the keys that it signs agvents with and that others seal for: made if it is missing; without
    one, they are new ones each time. `log` is the folder of the network's event log, for `subscribe(…, since=…)`."""
    for given in (name, principal):
        if given:
            check_name(given)
    whose = f"{principal}." if principal else ""
    made = name or f"{whose}{GUEST}{socket.gethostname()[:20]}-{os.getpid()}-{token_hex(4)}"
    return Connecting(
        {
            "addresses": addresses_of(brokers),
            "name": made,
            "is_guest": not name,
            "context": context,
            "failover_s": failover_s,
            "credentials": credentials,
            "keys": keys,
            "log": Path(log) if log is not None else None,
        }
    )
