"""The admin port: figures for machines over HTTP, read only. `/metrics`, `/status`, `/health`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.net.link.address import Address
from agvent.net.server.metrics import prometheus

REQUEST_BYTES_MAX: Final = 8_192


class AdminPort:
    """Answers one request a connection."""

    def __init__(self, status: Callable[[], dict[str, Any]]) -> None:
        self._status = status
        self._open = 0

    async def start(self, address: Address) -> None:
        self._server = await asyncio.start_server(self._came, *address, limit=REQUEST_BYTES_MAX)

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    def close(self) -> None:
        self._server.close()

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open <= limits.ADMIN_REQUESTS_MAX:
                await self._serve(reader, writer)
        finally:
            self._open -= 1
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(limits.INTRODUCTION_SECONDS_MAX):
                request = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(request.split(b"\r\n", 1)[0].decode("ascii", "replace").split()))
                await writer.drain()
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # whoever asks badly gets no answer

    def _answer(self, words: list[str]) -> bytes:
        method, path = (words[0], words[1]) if len(words) == 3 else ("", "")
        if method != "GET":
            return _response("405 Method Not Allowed", "text/plain", b"GET only\n")
        status = self._status()
        if path == "/metrics":
            return _response("200 OK", "text/plain; version=0.0.4; charset=utf-8", prometheus(status).encode())
        if path == "/status":
            return _response("200 OK", "application/json", msgspec.json.encode(status) + b"\n")
        if path == "/health":
            well = not status["disk_full"]
            return _response(
                "200 OK" if well else "503 Service Unavailable", "text/plain", b"ok\n" if well else b"full\n"
            )
        return _response("404 Not Found", "text/plain", b"/metrics, /status, /health\n")


def _response(status: str, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body
