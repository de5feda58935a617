"""Each request of a process is answered once, by the right kind of answer, with what is true; and refused only where it
must be.

What a process asked and was told decides. A later request about the same thing takes the place of an unanswered one,
which is then answered no more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from agvent import limits
from agvent.sim.ledger import Ledger
from agvent.sim.promises import in_order
from agvent.sim.world import ClientCall, ClientTold, World
from agvent.wire.client_messages import Advertised, AdvertisementsFound, Attached, Done, Refused, Subscribed

ANSWERS: Final[dict[str, type]] = {
    "advertise": Advertised,
    "unadvertise": Done,
    "subscribe": Subscribed,
    "unsubscribe": Done,
    "get_advertisements": AdvertisementsFound,
}
"""The answer to each request, beside Refused."""

SUBJECTS: Final = {"advertise": "type", "unadvertise": "type", "subscribe": "id", "unsubscribe": "id"}


class ProcessRequests(msgspec.Struct):
    """The requests of one process, as far as the history was read."""

    made: set[int] = set()
    open: dict[int, ClientCall] = {}  # unanswered, by number
    attached: int = 0  # the order of the last Attached
    standing: dict[str, int] = {}  # subscription -> the order in which it was confirmed
    types: dict[str, int] = {}  # type that it advertises -> the order in which it asked for that


class AnswerBook:
    """Reads a history from its beginning."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.processes: dict[str, ProcessRequests] = {name: ProcessRequests() for name in world.clients}
        self.calls: dict[tuple[str, str, str], int] = {}  # client, method, subject -> how many there were
        self.types: dict[str, set[str]] = {}  # client -> types that it advertised
        self.is_changing = {
            node.client
            for node in world.clients.values()
            if len(node.homes) > 1
            or node.session.life
            or {*node.homes} & {name for name, _ in world.history.lost_disks}
        }

    def read(self) -> Iterator[str]:
        """What is wrong."""
        for one in in_order(self.world.history):
            if isinstance(one, ClientCall):
                self._asked(one)
            elif isinstance(one.message, Attached):
                self.processes[one.process].attached = one.order
            elif getattr(one.message, "request", 0):
                yield from self._told(one, one.message)
        for node in self.world.living():
            for call in self.processes[node.name].open.values():
                yield f"{node.name} was never answered to {_shown(call)}"

    def _asked(self, call: ClientCall) -> None:
        if call.method not in ANSWERS:
            return
        requests, subject = self.processes[call.process], subject_of(call)
        kind = SUBJECTS.get(call.method)
        for number, earlier in list(requests.open.items()):
            if kind and kind == SUBJECTS.get(earlier.method) and subject_of(earlier) == subject:
                del requests.open[number]
        requests.open[call.result] = call
        requests.made.add(call.result)
        if call.method == "advertise":
            self.types.setdefault(call.client, set()).add(subject)
        if call.method == "subscribe":
            requests.standing.pop(subject, None)
        if call.method in ("advertise", "unadvertise"):
            requests.types.pop(subject, None)
        key = (call.client, call.method, subject)
        self.calls[key] = self.calls.get(key, 0) + 1

    def _told(self, told: ClientTold, message: Any) -> Iterator[str]:
        requests = self.processes[told.process]
        call = requests.open.get(message.request)
        if message.request not in requests.made:
            return  # the session says it by itself, to another home
        if call is None:
            yield f"{told.process} was told {type(message).__name__} of request {message.request}, which was not open"
            return
        pending = getattr(message, "pending", ())
        if not pending:
            del requests.open[message.request]
        if isinstance(message, Refused):
            if not self._may_refuse(call):
                yield f"{told.process} was refused {_shown(call)}: {message.reason}"
        elif not isinstance(message, ANSWERS[call.method]):
            yield f"{told.process} was told {type(message).__name__} of {_shown(call)}"
        elif isinstance(message, Subscribed):
            if told.home not in message.confirmed or message.confirmed.keys() & {*pending}:
                yield f"{told.process} was told that {[*message.confirmed]} have {_shown(call)}, and {pending} not"
            requests.standing[subject_of(call)] = told.order
        elif isinstance(message, Advertised):
            requests.types[subject_of(call)] = call.order
        elif isinstance(message, AdvertisementsFound):
            yield from self._found(told, call, message, requests)
        elif isinstance(message, Done) and call.method == "unsubscribe":
            yield from self._ended(told, call, message, requests)

    def _found(
        self, told: ClientTold, call: ClientCall, message: AdvertisementsFound, requests: ProcessRequests
    ) -> Iterator[str]:
        """Each type has a client that advertised it, and is what was looked for; the process's own are there."""
        wanted, own = call.args[0], set()
        for owner, publisher, type in message.found:
            if type.name not in self.types.get(publisher, ()) or wanted not in ("", type.name, *type.ancestors):
                yield f"{told.process} looked for {wanted or 'all'} and found {type.name} of {publisher} at {owner}"
            elif publisher == told.client:
                own.add(type.name)
        if call.client not in self.is_changing and requests.attached < call.order:
            expected = {type for type, order in requests.types.items() if order < call.order and wanted in ("", type)}
            if missing := expected - own:
                yield f"{told.process} looked for {wanted or 'all types'} and did not find its own {sorted(missing)}"

    def _ended(self, told: ClientTold, call: ClientCall, message: Done, requests: ProcessRequests) -> Iterator[str]:
        """Was there something to end? On the link on which it was confirmed there was."""
        id = subject_of(call)
        since = requests.standing.pop(id, None)
        was = since is not None and call.client not in self.is_changing
        if message.had and not self.calls.get((call.client, "subscribe", id)):
            yield f"{told.process} was told that {id} has ended, and never had it"
        elif not message.had and was and requests.attached < call.order:
            yield f"{told.process} was told that it had no {id}, and was told before that it had"

    def _may_refuse(self, call: ClientCall) -> bool:
        """Is there a reason that a client can see? It may have changed its subscription too often, or have too many
        types."""
        if call.method == "subscribe":
            return self.calls[call.client, "subscribe", subject_of(call)] > limits.REPLACED_VERSIONS_MAX + 1
        return call.method == "advertise" and len(self.types[call.client]) > limits.PUBLISHER_TYPES_MAX


def subject_of(call: ClientCall) -> str:
    """The subscription's id or the type that a request is about."""
    first = call.args[0]
    match call.method:
        case "subscribe":
            return str(first.id)
        case "advertise":
            return str(first.name)
        case _:
            return str(first)


def _shown(call: ClientCall) -> str:
    return f"{call.method} {subject_of(call)} ({call.result})"


def misanswered(world: World, ledger: Ledger) -> list[str]:
    return list(AnswerBook(world).read())
