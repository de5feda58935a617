"""`connect`: a client for a program that waits with `async with`, or for a script with `with`."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Any

from agvent.net.client.client import Client
from agvent.net.client.script import ScriptClient
from agvent.net.link.address import addresses_of
from agvent.net.link.introduction import GUEST, check_name
from agvent.net.link.tls import Credentials

FAILOVER_SECONDS = 10.0
"""How long a client tries to reach its home broker before it takes another: a restart is faster."""


class Connecting:
    """The result of `connect`: enter it with `async with` for a Client, or with `with` for a ScriptClient."""

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
    key_file: Path | None = None,
    event_log: str | os.PathLike[str] | None = None,
) -> Connecting:
    """A client of a broker network. `brokers` is one address or several with commas, such as `agvent://host:port`.

    >>> from agvent import connect, local_broker
    >>> with local_broker() as url, connect(url, name="ada") as ada:
    ...     ada.publish({"price": 8}).id
    EventId(publisher='ada', sequence=1)

    - `name`: with a name, the client continues where the last process of that name ended: its subscriptions are in
      force, and its deliveries wait in a queue. Without a name it is anonymous and leaves nothing behind.
    - `context`: attributes of this client that publishers' filters can test.
    - `failover_s`: after this time without its home broker, the client takes another broker of the list.
    - `credentials`: certificate or token, for brokers with TLS.
    - `principal`: the name in the certificate or token, if the client is anonymous.
    - `key_file`: the keys that sign agvents and that others seal for. The file is created if it is missing; without
      one the keys are new in each process.
    - `event_log`: the folder of the network's event log, for `subscribe(…, since=…)`.
    """
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
            "key_file": key_file,
            "event_log": Path(event_log) if event_log is not None else None,
        }
    )
