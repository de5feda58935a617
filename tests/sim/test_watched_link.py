"""The judge of links finds ends that break their contract, and nothing at those that keep it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agvent.sim.checkers.links import broken_links
from agvent.sim.endings import mend
from agvent.sim.network import Conditions
from agvent.sim.run import NOTHING
from agvent.sim.scenario import Workload
from agvent.sim.topology import Edge
from agvent.sim.watched_link import LinkWatch
from agvent.sim.workload import Actors
from agvent.sim.world import World
from agvent.wire.link import Frame, LinkEnd, Unacked
from agvent.wire.messages import AnyMessage

SECOND = 1_000_000
EDGES: list[Edge] = [("B1", "B2"), ("B2", "B3")]
BAD = Conditions(loss=0.2, doubling=0.1, lateness=0.2, flips=0.05)

_keep_early, _open, _poll = LinkEnd._keep_early, LinkEnd._open, LinkEnd.poll


def gives_early(end: LinkEnd, frame: Frame) -> None:
    """What came early counts as if the frames before it had come."""
    end._received = frame.number - 1
    _keep_early(end, frame)


def repeats_everything(end: LinkEnd, now: int) -> list[Unacked]:
    for one in end._unacked.values():
        one.sent = now
    return list(end._unacked.values())


def never_repeats(end: LinkEnd, now: int) -> list[Unacked]:
    for one in end._unacked.values():
        one.sent = now
    return []


def gives_twice(end: LinkEnd, frame: Frame, happened: list[AnyMessage]) -> None:
    _open(end, frame, happened)  # type: ignore[arg-type]
    _open(end, frame, happened)  # type: ignore[arg-type]


def stays_silent(end: LinkEnd, now: int) -> list[object]:
    """Does not notice that its peer is gone."""
    end._heard = now
    return []


def gives_up(end: LinkEnd, now: int) -> list[object]:
    """Takes a second of silence for the end."""
    if not end.up or now < end._heard + SECOND // 4:
        return []
    return [*_poll(end, end._heard + 60 * SECOND)]


MISTAKES: list[tuple[str, Callable[..., object], str]] = [
    ("_keep_early", gives_early, "acknowledges frame"),
    ("_late", repeats_everything, "repeats frame"),
    ("_late", never_repeats, "was not repeated"),
    ("_open", gives_twice, "out of turn"),
    ("poll", stays_silent, "not given up"),
    ("poll", gives_up, "too early"),
]


def found_in(seed: int) -> list[str]:
    """What the judge says of a world whose links are bad, and cut for some seconds."""
    world = World(seed, [], conditions=BAD)
    world.links = LinkWatch(world)
    world.build(EDGES, BAD)
    world.start()
    world.run(world.now + 3 * SECOND)
    actors = Actors(world, Workload(clients=3))
    actors.attach()
    for _ in range(40):
        actors.act()
        world.run(world.now + SECOND // 5)
    for path in (("B1", "B2"), ("B2", "B1")):
        world.network.paths[path].cut = True
    world.run(world.now + 6 * SECOND)
    mend(world)
    world.run(world.now + 6 * SECOND)
    return broken_links(world, NOTHING)


@pytest.mark.parametrize("seed", range(3))
def test_links_of_a_bad_network_keep_their_contract(seed: int) -> None:
    """Frames that are lost, late, doubled and damaged, and a cut, are no mistake of an end."""
    assert found_in(seed) == []


@pytest.mark.parametrize(("method", "mistake", "sentence"), MISTAKES)
def test_an_end_that_breaks_the_contract_is_found(
    monkeypatch: pytest.MonkeyPatch, method: str, mistake: Callable[..., object], sentence: str
) -> None:
    """Each of these ends has one mistake."""
    monkeypatch.setattr("agvent.sim.checkers.links.SHOWN_MAX", None)
    monkeypatch.setattr(LinkEnd, method, mistake)
    assert any(sentence in one for seed in range(3) for one in found_in(seed))
