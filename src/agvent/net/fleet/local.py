"""A broker inside this process, for notebooks, examples and tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agvent.net.client.script import LoopThread
from agvent.net.link.address import Address
from agvent.net.server.config import Config, TlsConfig
from agvent.net.server.server import BrokerServer


@contextmanager
def local_broker(
    name: str = "local",
    *,
    data: Path | None = None,
    port: int = 0,
    neighbours: Mapping[str, Address] | None = None,
    tls: TlsConfig | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """Runs a broker in a thread of this process, and gives its address.

    >>> from agvent import connect, local_broker
    >>> with local_broker() as url, connect(url) as client:
    ...     client.broker
    'local'

    `data` is the folder of its journal; without one, everything is deleted at the end. `log` gets its log lines."""
    with TemporaryDirectory() as folder:
        config = Config(
            name=name,
            listen=Address("127.0.0.1", port),
            data=data or Path(folder),
            neighbours=dict(neighbours or {}),
            tls=tls,
        )
        thread = LoopThread(f"broker {name}")
        try:
            server = thread.wait(_started(config, log))
            running = asyncio.run_coroutine_threadsafe(server.run(), thread.loop)
            try:
                yield f"agvent://127.0.0.1:{server.port}"
            finally:
                thread.loop.call_soon_threadsafe(server.stopping.set)
                running.result()
        finally:
            thread.close()


async def _started(config: Config, log: Callable[[str], None]) -> BrokerServer:
    server = BrokerServer(config, write=log)
    await server.start()
    return server
