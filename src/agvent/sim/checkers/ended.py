"""Who is told that its time is over: a process in whose place another one has come, for good, and nobody else; and each
subscriber of a type whose last publisher has gone, unless there is one again.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from agvent import limits
from agvent.sim.checkers.answers import subject_of
from agvent.sim.ledger import Ledger
from agvent.sim.nodes import ClientNode
from agvent.sim.promises import NEVER, in_order
from agvent.sim.world import ClientCall, World
from agvent.types import AgventType
from agvent.wire.client_messages import Advertised, Attached, Done, Subscribed, TypeGone


def misended(world: World, ledger: Ledger) -> list[str]:
    found = []
    for node in world.clients.values():
        last = max(other.session.life for other in world.clients.values() if other.client == node.client)
        for refused in node.turned_away:
            if refused.final and node.session.life == last:
                found.append(f"{node.name} was turned away for good, and no other process has come")
            elif not refused.final and "another process" in refused.reason:
                found.append(f"{node.name} was turned away for a while, and another process has come")
    return [*found, *Seasons(world).found]


class Season(msgspec.Struct):
    """A type at one publisher."""

    asked: int = 0  # order of the last advertise
    since: int = NEVER  # order in which it was told that everybody knows of that
    ending: int = 0  # when it was asked to end
    ended: int = 0  # the order in which that was done


class Seasons:
    """Types that come and go, as their publishers asked and were told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: list[str] = []
        self.types: dict[str, AgventType] = {}
        self.seasons: dict[tuple[str, str], Season] = {}  # client, type
        self._requests: dict[tuple[str, int], tuple[str, str, str]] = {}  # process, request -> client, type, method
        self._attached: dict[str, int] = {}  # process -> the order of its last Attached
        self._confirmed: dict[tuple[str, int], str] = {}  # process, request -> the subscription's type
        self._asking: dict[
            tuple[str, str], int
        ] = {}  # process, type -> the order in which a subscription was confirmed
        self._told: dict[tuple[str, str], int] = {}  # process, type -> when it was last told that it is gone
        self._read()
        if not world.history.lost_disks and not any(node.left for node in world.brokers.values()):
            self.found += self._untold()

    def _read(self) -> None:
        for one in in_order(self.world.history):
            if isinstance(one, ClientCall):
                self._asked(one)
                continue
            message, request = one.message, getattr(one.message, "request", 0)
            if isinstance(message, Attached):
                self._attached[one.process] = one.order
            elif isinstance(message, TypeGone):
                self._told[one.process, message.type] = one.at
                self.found += self._untrue(one.process, message.type)
            elif isinstance(message, Subscribed) and (one.process, request) in self._confirmed:
                self._asking.setdefault((one.process, self._confirmed[one.process, request]), one.order)
            elif (one.process, request) in self._requests:
                client, type, method = self._requests[one.process, request]
                season = self.seasons[client, type]
                if isinstance(message, Advertised) and method == "advertise" and not message.pending:
                    season.since = min(season.since, one.order)
                elif isinstance(message, Done) and method == "unadvertise" and season.ending:
                    season.ended = one.order

    def _asked(self, call: ClientCall) -> None:
        if call.method == "subscribe" and call.args[0].type:
            self._confirmed[call.process, call.result] = call.args[0].type
        if call.method not in ("advertise", "unadvertise"):
            return
        type = subject_of(call)
        self._requests[call.process, call.result] = (call.client, type, call.method)
        season = self.seasons.setdefault((call.client, type), Season())
        if call.method == "advertise":
            self.types[type] = call.args[0]
            season.asked, season.ending, season.ended = call.order, 0, 0
        else:
            season.since, season.ending, season.ended = NEVER, call.at, 0

    def _under(self, type: str) -> list[tuple[str, Season]]:
        """The publishers of a type and its subtypes, and since when."""
        names = {name for name, one in self.types.items() if type in (name, *one.ancestors)}
        return [(client, season) for (client, name), season in self.seasons.items() if name in names]

    def _untrue(self, process: str, type: str) -> Iterator[str]:
        """Has somebody published it since before this link?"""
        since = self._attached.get(process, 0)
        for client, season in self._under(type):
            if season.since < since and self._is_steady(client):
                yield f"{process} was told that {type} is gone, which {client} publishes"

    def _is_steady(self, client: str) -> bool:
        """Is it at one broker all the time, which has its disk? A guest's types end with it."""
        nodes = [node for node in self.world.clients.values() if node.client == client]
        lost = {name for name, _ in self.world.history.lost_disks}
        return all(len(node.homes) == 1 and node.home not in lost and not node.session.guest for node in nodes)

    def _untold(self) -> Iterator[str]:
        """Subscribers whose link was there, or surely gone, from before the last publisher went; their home runs on."""
        for (process, type), since in self._asking.items():
            node, seasons = self.world.clients[process], self._under(type)
            began = max((season.ending for _, season in seasons), default=0)
            is_gone = bool(seasons) and all(season.ended and self._is_steady(client) for client, season in seasons)
            was_there = any(season.asked < since < season.ended for _, season in seasons)
            if is_gone and was_there and self._is_reachable(node, began) and self._is_asked(process, type, since):
                told = self._told.get((process, type), 0)
                if told < began:
                    yield f"{process} was not told that {type} is gone, which nobody publishes"

    def _is_reachable(self, node: ClientNode, began: int) -> bool:
        noticed_us = limits.LINK_SILENCE_US + self.world.machine.notice_us + 1_000_000
        is_same_home = len(node.homes) == 1 and not self.world.brokers[node.home].crashes
        is_alone = all(other is node or other.client != node.client for other in self.world.clients.values())
        is_clear = all(down + noticed_us < began for down in node.downs)
        return is_same_home and is_alone and is_clear and not node.is_over

    def _is_asked(self, process: str, type: str, since: int) -> bool:
        """Does the process ask for the type without a break since then? A change of the filter is none."""
        return not any(
            call.process == process
            and (call.method == "unsubscribe" or (call.method == "subscribe" and call.args[0].type != type))
            and call.order > since
            for call in self.world.history.asked
        )
