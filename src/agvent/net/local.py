"""A broker inside this process, for notebooks, examples and tests: nothing to install, start or stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agvent.net.address import Address
from agvent.net.config import Config, Tls
from agvent.net.script import LoopThread
from agvent.net.server import BrokerServer


@contextmanager
def local_broker(
    name: str = "local",
    *,
    data: Path | None = None,
    port: int = 0,
    neighbours: Mapping[str, Address] | None = None,
    tls: Tls | None = None,
    log: Callable[[str], None] = lambda _: None,
) -> Iterator[str]:
    """Runs a broker in a thread and gives its address; without `data` what it knew is gone in the end. It says nothing
    of itself but to `log`."""
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
