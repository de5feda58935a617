"""A broker that is dialled, is there, and does not answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec
import pytest

from agvent import limits
from agvent.errors import NetworkFault
from agvent.net.link.address import Address
from agvent.net.link.dial import ask, dial
from agvent.net.link.introduction import Welcome
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


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_dial_that_comes_to_nothing_leaves_no_connection(monkeypatch: pytest.MonkeyPatch, is_cancelled: bool) -> None:
    """The peer accepts and says nothing, or whoever dials does not wait for what it says."""
    monkeypatch.setattr(limits, "INTRODUCTION_SECONDS_MAX", 5.0 if is_cancelled else 0.1)

    async def story() -> None:
        dialled, gone = asyncio.Event(), asyncio.Event()

        async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            dialled.set()
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
            gone.set()

        async with asyncio.timeout(2), await asyncio.start_server(silence, "127.0.0.1", 0) as server:
            dialling = asyncio.create_task(dial(Address(*server.sockets[0].getsockname()), "client", "ada"))
            await dialled.wait()
            if is_cancelled:
                dialling.cancel()
            with pytest.raises(asyncio.CancelledError if is_cancelled else NetworkFault):
                await dialling
            await gone.wait()

    asyncio.run(story())
