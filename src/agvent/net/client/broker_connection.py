"""A client's connection to its broker: found, kept, found again, elsewhere if need be.

The session is the client's state and outlives connections. Of several brokers the first choice is where the client is
at home, then the one of the least round trip and load (Narada §2).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from random import random
from typing import Final

import msgspec

from agvent import limits
from agvent.errors import AgventError, CallerError, NetworkFault
from agvent.net.link.address import Address
from agvent.net.link.connection import Connection
from agvent.net.link.dial import RUNS, dial
from agvent.net.link.introduction import Welcome
from agvent.net.link.tls import Credentials
from agvent.session.session import Session
from agvent.wire.client_messages import Move, Refused
from agvent.wire.link import Change, LinkEnd
from agvent.wire.messages import AnyMessage

LOAD_US: Final = 50
"""What each attached client adds to a broker's round trip in the choice: about what a message of each costs it."""

START_ONE: Final = "agvent up starts a network here"
"""The hint of a client that reaches no broker, if there is none better."""

ATTACHING: Final = 0
"""The request that a refusal of the Attach itself names."""


class FoundBroker(msgspec.Struct, frozen=True):
    """A broker that answered, and how long that took."""

    address: Address
    connection: Connection
    welcome: Welcome
    rtt_us: int

    @property
    def cost(self) -> tuple[bool, int]:
        return (not self.welcome.home, self.rtt_us + LOAD_US * self.welcome.load)


async def _first_answers(tries: list[asyncio.Task[FoundBroker]]) -> None:
    """Waits until a broker is found, and for a while for others."""
    pending = set(tries)
    while pending and not any(map(_is_found, tries)):
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
    if pending:
        await asyncio.wait(pending, timeout=limits.NEARER_SECONDS_MAX)


def _is_found(one: asyncio.Task[FoundBroker]) -> bool:
    return one.done() and not one.cancelled() and one.exception() is None


def _let_go(one: asyncio.Task[FoundBroker]) -> None:
    if _is_found(one):
        one.result().connection.abort("another broker is nearer")


def _no_broker(errors: list[AgventError]) -> NetworkFault:
    hints = [error.hint for error in errors if error.hint != RUNS]
    return NetworkFault(
        f"no broker can be reached: {'; '.join(map(str, errors))}",
        hint=next(filter(None, hints), START_ONE),
    )


class BrokerConnection:
    """Keeps a session attached. `on_messages` is called with what the session has for its caller."""

    def __init__(
        self,
        session: Session,
        addresses: list[Address],
        *,
        failover_s: float,
        credentials: Credentials | None,
        on_messages: Callable[[list[AnyMessage]], None],
    ) -> None:
        self.session, self.addresses, self.failover_s = session, addresses, failover_s
        self._credentials = credentials
        self.home: Address | None = None
        self.last_error = ""  # why there is no connection now
        self._on_messages = on_messages
        self._connection: Connection | None = None
        self._ended: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._is_due = False
        self._is_turned_away = False  # by a broker that may have it later
        self._is_over = False  # it was turned away for good

    async def open(self) -> None:
        """Attaches for the first time; a NetworkFault if no broker of the list answers."""
        self._begin(await self._nearest(self.addresses))
        self._task = asyncio.create_task(self._keep())

    async def close(self) -> None:
        """Lets what was said go out, and ends."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        if self._connection is not None and not self._connection.is_lost:
            self._say()
            self._connection.close("the client closes")
            await self._connection.wait_closed()

    # Finding a broker

    async def _nearest(self, addresses: list[Address], *, is_patient: bool = False) -> FoundBroker:
        """The best of those that answer in time; the others are let go. With `is_patient` a final refusal is one of the
        faults unless it is the home's, or all refuse."""
        tries = [asyncio.create_task(self._try(address)) for address in addresses]
        best = None
        try:
            await _first_answers(tries)
            best = min(filter(_is_found, tries), key=lambda one: one.result().cost, default=None)
        finally:
            for one in tries:
                if one is not best:
                    one.cancel()
                    one.add_done_callback(_let_go)
        if best is not None:
            return best.result()
        errors = dict(zip(addresses, (one.exception() for one in tries), strict=True))
        refusals = {address: error for address, error in errors.items() if not isinstance(error, NetworkFault)}
        is_final = not is_patient or self.home in refusals or refusals == errors
        for error in refusals.values():
            if is_final or not isinstance(error, CallerError):
                raise error  # type: ignore[misc]
        raise _no_broker([error for error in errors.values() if isinstance(error, AgventError)])

    async def _try(self, address: Address) -> FoundBroker:
        began = time.monotonic_ns()
        connection, _, welcome = await dial(address, "client", self.session.client, self._credentials)
        return FoundBroker(address, connection, welcome, (time.monotonic_ns() - began) // 1000)

    async def _keep(self) -> None:
        """Finds a broker again whenever the connection ends: at home, and after a while anywhere."""
        while True:
            assert self._ended is not None
            await self._ended
            if self._is_turned_away:
                if self._is_over:
                    return
                if not self.session.broker:  # no broker has had it yet: another try would not help
                    self.give_up(self.last_error)
                    return
                await asyncio.sleep(limits.REDIAL_SECONDS_MAX)
                self._is_turned_away, self.home = False, None
            if not await self._find_again():
                return

    async def _find_again(self) -> bool:
        """Finds a broker, at home and after a while anywhere; False when it is turned away for good."""
        away_at, wait = time.monotonic() + self.failover_s, limits.REDIAL_SECONDS_MIN
        while True:
            left = away_at - time.monotonic()
            home = [self.home] if self.home is not None and left > 0 else []
            try:
                async with asyncio.timeout(left if home else None):
                    found = await self._nearest(home or self.addresses, is_patient=True)
            except TimeoutError:  # the home has not answered: now others may
                continue
            except NetworkFault as error:
                self.last_error = str(error)
            except CallerError as error:  # a token that has expired, for one: no other try would help
                self.give_up(str(error))
                return False
            else:
                self._begin(found)
                return True
            pause = wait * (1 - random() / 2)
            await asyncio.sleep(min(pause, max(0, away_at - time.monotonic())) if home else pause)
            wait = min(2 * wait, limits.REDIAL_SECONDS_MAX)

    def _turn_away(self, connection: Connection, refused: Refused) -> None:
        if refused.final:
            self.give_up(refused.reason)
        self._is_turned_away = True
        connection.abort(refused.reason)

    def give_up(self, reason: str) -> None:
        """It is attached nowhere any more, and whoever asks something is told why."""
        self.last_error, self._is_over = reason, True
        self.say()

    def _begin(self, found: FoundBroker) -> None:
        self.home, self.last_error = found.address, ""
        self._ended = asyncio.get_running_loop().create_future()
        self._connection = found.connection
        found.connection.owner = self
        if found.connection.is_lost:
            self.lost(found.connection, "it ended at once")
        else:
            found.connection.begin()

    # The connection's owner

    def said(self, connection: Connection, content: bytes) -> None:
        """Nothing comes between the welcome and the link."""

    def happened(self, connection: Connection, what: list[AnyMessage | Change]) -> None:
        messages: list[AnyMessage] = []
        for one in what:
            if one is Change.UP:
                self.session.link_up()
            elif isinstance(one, Change):
                connection.abort("the broker restarted")
            elif isinstance(one, Refused) and one.is_of_attaching:
                self._turn_away(connection, one)
            else:
                messages += self.session.receive(one)
        if messages:
            self._on_messages(messages)
        self.say()

    def lost(self, connection: Connection, reason: str) -> None:
        self.last_error = reason
        self.session.link_down()
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def say(self) -> None:
        """Has the session's words sent, together with those of every other call of this turn of the loop."""
        if not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._say)

    def _say(self) -> None:
        """Sends what the session has to say, if it can be said now."""
        self._is_due = False
        if self._is_over:
            self._refuse()
            return
        connection = self._connection
        if connection is not None and connection.end is not None and connection.end.up:
            for message in self.session.take():
                self._say_one(connection.end, message)
            connection.pump()

    def _refuse(self) -> None:
        """Tells whoever asked or published something why nobody will answer."""
        self._on_messages([Refused(request=ATTACHING, sequence=0, reason=self.last_error)])
        for number, request in list(self.session.requests.items()):
            if not isinstance(request, Move):
                self._on_messages(self.session.receive(Refused(request=number, sequence=0, reason=self.last_error)))

    def _say_one(self, end: LinkEnd, message: AnyMessage) -> None:
        """One that is too large, or has a value no message can have, is refused here; the others are said."""
        oversized, request = end.oversized, getattr(message, "request", 0)
        try:
            end.send(message)
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
            self._on_messages(
                self.session.receive(
                    Refused(request=request, sequence=0, reason=f"it has a value that cannot be sent: {error}")
                )
            )
        if end.oversized > oversized:
            self._on_messages(
                self.session.receive(
                    Refused(request=request, sequence=0, reason=f"it has more than {limits.MESSAGE_BYTES_MAX} bytes")
                )
            )
