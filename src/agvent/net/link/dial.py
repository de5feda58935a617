"""A connection as whoever dialled it uses it: an introduction and its answer, then frames one by one."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final, Literal

import msgspec

from agvent import limits
from agvent.errors import CallerError, NetworkFault, WireError
from agvent.net.link.address import Address
from agvent.net.link.clock import Clock
from agvent.net.link.connection import Connection
from agvent.net.link.introduction import PROTOCOL, Introduction, RejectedIntroduction, Welcome, answer_of
from agvent.net.link.tls import Credentials, dial_context, peer_of
from agvent.wire.link import Change
from agvent.wire.messages import AnyMessage

RUNS: Final = "is the broker running?"
TAKES_KEYS: Final = "if the broker has keys it takes --authority, and --certificate or --token; in Python, credentials="
HAS_NO_KEYS: Final = "a broker without [tls] is dialled without --authority; with it, both need the same authority"


class Dialled:
    """A connection whose frames are taken one by one, until a link begins on it."""

    def __init__(self) -> None:
        self._said: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.reason = ""

    def said(self, connection: Connection, content: bytes) -> None:
        self._said.put_nowait(content)

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        raise AssertionError("no link begins here")

    def lost(self, connection: Connection, reason: str) -> None:
        self.reason = reason
        self._said.put_nowait(None)

    async def frame(self) -> bytes:
        content = await self._said.get()
        if content is None:
            self._said.put_nowait(None)
            raise NetworkFault(f"the connection ended: {self.reason}")
        return content


async def dial(
    address: Address,
    kind: Literal["client", "operator"],
    name: str,
    credentials: Credentials | None = None,
    *,
    to: str = "",
) -> tuple[Connection, Dialled, Welcome]:
    """A connection that is welcome at a broker, the one named `to` if that is given; a NetworkFault if there is none or
    it is turned away."""
    dialled = Dialled()
    tls = None
    if credentials is not None:
        tls = dial_context(credentials.authority, credentials.certificate, credentials.key)
    try:
        async with asyncio.timeout(limits.INTRODUCTION_SECONDS_MAX):
            loop = asyncio.get_running_loop()
            _, connection = await loop.create_connection(lambda: Connection(dialled, Clock()), *address, ssl=tls)
            token = credentials.token if credentials is not None else ""
            introduction = Introduction(agvent=PROTOCOL, kind=kind, name=name, to=to, token=token)
            answer = await _answer(connection, dialled, introduction, is_locked=tls is not None)
    except TimeoutError:
        raise NetworkFault(f"{address}: no answer in {limits.INTRODUCTION_SECONDS_MAX:.0f} s") from None
    except NetworkFault as error:
        raise NetworkFault(f"{address}: {error.message}", hint=TAKES_KEYS if tls is None else None) from None
    except (ssl.SSLError, ConnectionResetError, ConnectionAbortedError) as error:
        why = error.strerror or str(error) or "closed by the peer"
        said = f"no TLS handshake: {why}" if tls is not None else why
        raise NetworkFault(f"{address}: {said}", hint=HAS_NO_KEYS if tls is not None else TAKES_KEYS) from None
    except OSError as error:
        raise NetworkFault(f"{address}: {error.strerror or error}", hint=RUNS) from None
    except WireError as error:
        raise NetworkFault(f"{address}: {error.message}", hint="is this a broker's port?") from None
    if isinstance(answer, RejectedIntroduction):
        connection.abort("rejected")
        raise (CallerError if answer.final else NetworkFault)(f"{address}: {answer.reason}")
    return connection, dialled, answer


async def _answer(
    connection: Connection, dialled: Dialled, introduction: Introduction, *, is_locked: bool
) -> Welcome | RejectedIntroduction:
    """What is answered to an introduction; the connection ends when nothing is, and when nobody waits for it."""
    try:
        if is_locked and getattr(peer_of(connection.transport), "kind", "") != "broker":
            raise WireError("it has no certificate of a broker")
        connection.say(msgspec.json.encode(introduction))
        return answer_of(await dialled.frame())
    except BaseException:
        connection.abort("no answer to the introduction")
        raise


async def ask(
    address: Address, request: str, *, credentials: Credentials | None = None, to: str = "", **facts: Any
) -> Any:
    """An operator's request, to the broker of this name if one is given, and the answer as plain data."""
    connection, dialled, _ = await dial(address, "operator", "operator", credentials, to=to)
    try:
        connection.say(msgspec.json.encode({"request": request, **facts}))
        whole = b""
        while part := await _in_time(dialled, address):
            whole += part
    finally:
        connection.abort("done")
    answer = msgspec.json.decode(whole)
    if "error" in answer:
        raise CallerError(answer["error"], hint=answer.get("hint"))
    return answer["ok"]


async def _in_time(dialled: Dialled, address: Address) -> bytes:
    try:
        async with asyncio.timeout(limits.OPERATOR_ANSWER_SECONDS_MAX):
            return await dialled.frame()
    except TimeoutError:
        raise NetworkFault(f"{address}: no answer in {limits.OPERATOR_ANSWER_SECONDS_MAX:.0f} s") from None
