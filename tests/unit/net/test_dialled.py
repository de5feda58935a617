"""A broker that is dialled, is there, and does not answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
import pytest

from agvent import limits
from agvent.errors import NetworkFault
from agvent.net.address import Address
from agvent.net.dialled import ask
from agvent.net.introduction import Welcome
from agvent.wire.codec import framed


def test_an_answer_that_does_not_come_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker welcomes an operator, and then stands still."""
    monkeypatch.setattr(limits, "OPERATOR_ANSWER_SECONDS_MAX", 0.1)

    async def story() -> None:
        gone = asyncio.Event()

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(framed(msgspec.json.encode(Welcome(broker="B1", incarnation=1))))
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
            gone.set()

        async with await asyncio.start_server(welcome, "127.0.0.1", 0) as server:
            with pytest.raises(NetworkFault, match="no answer in"):
                await ask(Address(*server.sockets[0].getsockname()), "status")
            await gone.wait()

    asyncio.run(story())
