"""Which of several brokers a client takes, when some are silent, slow, or have nothing for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import msgspec
import pytest

from agvent import limits
from agvent.errors import AgventError, CallerError, NetworkFault
from agvent.net.client.broker_connection import BrokerConnection
from agvent.net.link.address import Address
from agvent.net.link.introduction import RejectedIntroduction, Welcome
from agvent.session.session import Session
from agvent.wire.codec import framed

REFUSAL = RejectedIntroduction(reason="no", final=True)
SHUT = RejectedIntroduction(reason="later", final=False)


class Peer:
    """Answers every introduction so, after a while; with None never. `alone` while it has no connection."""

    def __init__(self, answer: Welcome | RejectedIntroduction | None, *, after_s: float = 0) -> None:
        self.answer, self.after_s = answer, after_s
        self.alone = asyncio.Event()
        self._connections = 0

    async def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        self.alone.clear()
        await reader.read(1)
        with suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(self.after_s if self.answer is not None else None):
                await reader.read()
        with suppress(ConnectionError):
            writer.write(framed(msgspec.json.encode(self.answer)))
            await reader.read()
        writer.close()
        self._connections -= 1
        if not self._connections:
            self.alone.set()

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Address]:
        async with await asyncio.start_server(self._came, "127.0.0.1", 0) as server:
            yield Address(*server.sockets[0].getsockname())
            await self.alone.wait()


def welcome(name: str, *, home: bool = False) -> Welcome:
    return Welcome(broker=name, incarnation=1, home=home)


@asynccontextmanager
async def attachment(*peers: Peer, failover_s: float = 10) -> AsyncIterator[BrokerConnection]:
    """Of a client whose home is the first of these brokers."""
    async with asyncio.timeout(4), AsyncExitStack() as stack:
        addresses = [await stack.enter_async_context(peer.listening()) for peer in peers]
        one = BrokerConnection(
            Session("ada"), addresses, failover_s=failover_s, credentials=None, on_messages=lambda _: None
        )
        one.home = addresses[0]
        yield one


@pytest.mark.parametrize(("after_s", "broker"), [(0.2, "B1"), (2.0, "B2")])
def test_the_home_is_waited_for_a_little_and_a_silent_broker_is_not(after_s: float, broker: str) -> None:
    """Of three one is silent and the home is slow: what is not taken is closed at once."""

    async def story() -> None:
        peers = [Peer(welcome("B1", home=True), after_s=after_s), Peer(welcome("B2")), Peer(None)]
        async with attachment(*peers) as one:
            found = await one._nearest(one.addresses)
            assert found.welcome.broker == broker
            for peer in peers:
                if peer.answer != found.welcome:
                    await peer.alone.wait()
            assert not found.connection.is_lost
            found.connection.abort("done")

    asyncio.run(story())


def test_a_silent_home_is_left_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The dial that it does not answer is not waited for beyond `failover_s`."""
    monkeypatch.setattr(limits, "NEARER_SECONDS_MAX", 0.1)

    async def story() -> None:
        async with attachment(Peer(None), Peer(welcome("B2")), failover_s=0.2) as one:
            assert await one._find_again()
            assert one.home == one.addresses[1]
            await one.close()

    asyncio.run(story())


@pytest.mark.parametrize(
    ("answers", "error"),
    [((REFUSAL, SHUT), CallerError), ((SHUT, REFUSAL), NetworkFault), ((REFUSAL, REFUSAL), CallerError)],
    ids=["the home", "another", "all"],
)
def test_a_refusal_is_final_if_the_home_or_everybody_refuses(
    answers: tuple[RejectedIntroduction, ...], error: type[AgventError]
) -> None:
    """Another broker's is named among the reasons why none is reached."""

    async def story() -> None:
        async with attachment(*map(Peer, answers)) as one:
            with pytest.raises(error, match=": no"):
                await one._nearest(one.addresses, is_patient=True)

    asyncio.run(story())
