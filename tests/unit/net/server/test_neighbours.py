"""Links to neighbours while they are not up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import msgspec
import pytest

from agvent import limits
from agvent.net.link.address import Address
from agvent.net.link.introduction import PROTOCOL, Introduction, Welcome
from agvent.net.server.config import Config
from agvent.net.server.server import BrokerServer
from agvent.wire.codec import framed


@asynccontextmanager
async def broker(name: str, data: Path, neighbours: dict[str, Address]) -> AsyncIterator[BrokerServer]:
    config = Config(name=name, listen=Address("127.0.0.1", 0), data=data, neighbours=neighbours, tls=None)
    server = BrokerServer(config, write=lambda _: None)
    await server.start()
    yield server
    await server.stop()


def test_waiting_for_a_neighbour_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a link is cut, its broker looks again and again whether to dial, and has no more tasks for it."""
    monkeypatch.setattr(limits, "REDIAL_SECONDS_MIN", 0.001)
    monkeypatch.setattr(limits, "REDIAL_SECONDS_MAX", 0.001)

    async def story() -> None:
        async with broker("B1", tmp_path, {"B2": Address("127.0.0.1", 1)}) as server:
            server.neighbours.cut_link("B2")
            before = len(asyncio.all_tasks())
            await asyncio.sleep(0.2)
            assert len(asyncio.all_tasks()) == before

    asyncio.run(story())


def test_a_link_that_is_cut_while_it_is_dialled_stays_down(tmp_path: Path) -> None:
    """The neighbour's welcome comes after the cut: the connection ends, and the status says why."""

    async def story() -> None:
        ended = asyncio.Event()

        async def welcome(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(1)
            server.neighbours.cut_link("B2")
            writer.write(framed(msgspec.json.encode(Welcome(broker="B2", incarnation=1))))
            with suppress(ConnectionError):
                await reader.read()
            writer.close()
            ended.set()

        async with await asyncio.start_server(welcome, "127.0.0.1", 0) as neighbour:
            address = Address(*neighbour.sockets[0].getsockname())
            async with broker("B1", tmp_path, {"B2": address}) as server, asyncio.timeout(2):
                await ended.wait()
                [link] = server.status()["links"]
                assert (link["state"], server.links.neighbours) == ("cut", {})

    asyncio.run(story())


def test_a_dial_that_crosses_is_not_logged(tmp_path: Path) -> None:
    """A neighbour that dials while this broker dials it is rejected, as one link is enough: that is no news. The
    rejection of any other broker is."""
    lines: list[str] = []

    async def rejection(server: BrokerServer, name: str) -> str:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        introduction = Introduction(agvent=PROTOCOL, kind="broker", name=name, to="B1")
        writer.write(framed(msgspec.json.encode(introduction)))
        said = await reader.read()
        writer.close()
        return said[said.index(b"{") :].decode()

    async def story() -> None:
        config = Config(
            name="B1",
            listen=Address("127.0.0.1", 0),
            data=tmp_path,
            neighbours={"B2": Address("127.0.0.1", 1)},
            tls=None,
        )
        server = BrokerServer(config, write=lines.append)
        await server.start()
        assert "'B1' dials 'B2', not the other way round" in await rejection(server, "B2")
        assert "this broker is called 'B1' too" in await rejection(server, "B1")
        await server.stop()

    asyncio.run(story())
    said = [msgspec.json.decode(line) for line in lines]
    assert [one["reason"] for one in said if one["message"] == "rejected"] == ["this broker is called 'B1' too"]
