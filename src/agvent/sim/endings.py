"""The end of the chaos phase: everything is mended, and nothing more goes wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from agvent.broker.interface import Forget
from agvent.filters.subscription import Subscription
from agvent.sim.network import GOOD
from agvent.types import AgventType

if TYPE_CHECKING:
    from agvent.sim.world import World

GOOD_SYNC_US = 1_000
"""How long a sync takes when everything is mended."""

ENDS: Final = {
    "subscribe": "unsubscribe", "unsubscribe": "unsubscribe", "advertise": "unadvertise", "unadvertise": "unadvertise",
}  # fmt: skip
"""How a client ends what it asked for."""


def mend(world: World) -> None:
    """Every link good, every broker running, every client attached; guests are gone."""
    world.traps.clear()
    for path in world.network.paths.values():
        path.cut, path.conditions = False, GOOD
    for node in world.brokers.values():
        node.fsync_us, node.disk.is_full = GOOD_SYNC_US, False
        node.restart()
        if node.paused:
            node.resume()
    _forget_left(world)
    attach_all(world)


def attach_all(world: World) -> None:
    """Guests are gone, and every other process that has not ended is attached."""
    for client in list(world.clients.values()):
        if client.session.guest:
            client.end()
        elif not client.ends:
            client.back()


def _forget_left(world: World) -> None:
    """The operator tells one broker of those who left; some may have gone while nobody could hear them. A broker that
    does not know the name refuses (net/server/server.py), so it is one that knows it."""
    for left in [node.name for node in world.brokers.values() if node.left]:
        knowing = [node for node in world.brokers.values() if node.alive and left in node.broker.tables.advertisements]
        for node in knowing[:1]:
            node.do([Forget(left)])


def succeed_all(world: World) -> None:
    """Each client of which no process is left has another one, and the last process of each ends what earlier ones
    asked for and it did not. A run that workload.py draws needs neither; a plan without some of its steps does."""
    last = {node.client: node for node in world.clients.values() if not node.session.guest}
    living = {node.client for node in world.living()}
    for client, node in last.items():
        if client not in living:
            life = node.session.life + 1
            with world.doings.unnoted():
                last[client] = world.attach(f"{client}+{life}", node.home, client=client, life=life)
    for client, node in last.items():
        for end, name in _left_open(world, client, node.name):
            with world.doings.unnoted():
                world.ask(node.name, end, name)


def _left_open(world: World, client: str, last: str) -> list[tuple[str, str]]:
    """What processes of a client asked for, and the last one said nothing of: how it is ended, and its name."""
    asked = [call for call in world.history.asked if call.client == client and call.method in ENDS]
    named = [(call.process, ENDS[call.method], _name_of(call.args[0])) for call in asked]
    said = {(end, name) for process, end, name in named if process == last}
    return list(dict.fromkeys((end, name) for _, end, name in named if (end, name) not in said))


def _name_of(given: Any) -> str:
    """The name of a subscription or a type, or that itself."""
    if isinstance(given, Subscription):
        return given.id
    return given.name if isinstance(given, AgventType) else str(given)
