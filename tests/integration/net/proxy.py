"""A TCP proxy that does to a link what networks do: cut, stall, delay, throttle, corrupt."""

from __future__ import annotations

import asyncio
from random import Random
from typing import Self

from agvent.net.client.script import LoopThread
from agvent.net.link.address import Address


class FaultProxy:
    """Carries bytes between whoever dials `address` and a target. Its attributes may change while it runs."""

    def __init__(self, target: Address, port: int) -> None:
        self.target, self.address = target, Address("127.0.0.1", port)
        self.delay_s = 0.0
        self.bytes_per_s = 0  # 0: any number
        self.flips = 0.0  # the probability that a piece has a bit flipped
        self.is_cut = False
        self.connections = 0
        self._random = Random(1)
        self._thread = LoopThread("proxy")
        self._writers: set[asyncio.StreamWriter] = set()

    def __enter__(self) -> Self:
        self._thread.wait(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.cut()
        self._thread.wait(self._stop())
        self._thread.close()

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._came, *self.address)

    async def _stop(self) -> None:
        self._server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    def cut(self) -> None:
        """Ends every connection, and takes none until `heal`."""
        self.is_cut = True
        self._thread.loop.call_soon_threadsafe(self._abort)

    def heal(self) -> None:
        self.is_cut, self.delay_s, self.bytes_per_s, self.flips = False, 0.0, 0, 0.0

    def _abort(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_cut:
            writer.transport.abort()
            return
        try:
            there, back = await asyncio.open_connection(*self.target)
        except OSError:
            writer.transport.abort()
            return
        self.connections += 1
        self._writers |= {writer, back}
        await asyncio.gather(self._carry(reader, back), self._carry(there, writer))
        self._writers -= {writer, back}

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(16_384):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if self.bytes_per_s:
                    await asyncio.sleep(len(data) / self.bytes_per_s)
                writer.write(self._damaged(data))
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.transport.abort()

    def _damaged(self, data: bytes) -> bytes:
        if not self.flips or self._random.random() >= self.flips:
            return data
        damaged = bytearray(data)
        damaged[self._random.randrange(len(damaged))] ^= 1 << self._random.randrange(8)
        return bytes(damaged)
