"""What a broker remembers of an agvent that takes the default route: its life, stage by stage."""

from __future__ import annotations

from agvent import limits
from agvent.agents.execution.sandbox import ArrivalReply
from agvent.broker.interface import Append
from agvent.broker.records import Accepted, Arrived
from agvent.event import EventId
from agvent.net.server.recent_hops import RecentHops
from agvent.wire.client_messages import Deliver
from agvent.wire.codec import content_of, has_cargo
from agvent.wire.parts import Answered, BehaviourCall, Entered, Publication
from tests.sandboxes import booked

PLAIN = content_of({"a": 1})
ANSWERS = (Answered(BehaviourCall("is_new", ()), None, "KeyError"),)


def noted(memory: RecentHops, event: bytes, answers: tuple[Answered, ...] = ()) -> None:
    """Has an event enter, and arrive for ann."""
    publication = Publication("house", 1, event)
    entered = Entered("B1", 1, 0, answers)
    records = (
        Accepted(entered=entered, publication=publication, targets=(), at=5),
        Arrived(entered=entered, publication=publication, after=0, lost="", deliveries=(("ann", (("a/s", 1),)),)),
    )
    memory.note([], [Append(records, 1)], {}, 5)


def stages(memory: RecentHops, now: int = 6) -> list[tuple[str, str, int]]:
    return [(hop.what, hop.reason, hop.at) for hop in memory.find("house", 1, now)]


def test_the_life_of_an_agvent_is_among_its_hops() -> None:
    """Executed only if a behaviour ran; of a plain event nothing of the kind."""
    plain, quiet, asked = RecentHops("B1"), RecentHops("B1"), RecentHops("B1")
    noted(plain, PLAIN)
    noted(quiet, booked())
    noted(asked, booked(), ANSWERS)
    assert [what for what, _, _ in stages(plain)] == ["entered", "arrived"]
    assert [what for what, _, _ in stages(quiet)] == ["created", "entered", "admitted", "arrived", "delivered"]
    assert stages(asked)[3] == ("executed", "KeyError", 5)


def test_an_agvent_that_was_let_in_is_disposed_of_in_the_end() -> None:
    """By its subscriber, or when its time is over: at its expiry, without one after an hour."""
    delivery = Deliver(
        number=1, after=0, behind=0, publisher="house", sequence=1, fast=False, event=booked(), subscriptions=("s",)
    )
    kept, short, gone = RecentHops("B1"), RecentHops("B1"), RecentHops("B1")
    for memory, expires in ((kept, 0), (short, 20), (gone, 20)):
        memory.visited(delivery, "ann", ArrivalReply(), 10, expires=expires)
    gone.disposed(EventId("house", 1), "ann", 15, fast=False)
    over = limits.RESIDENCE_US + 10
    assert (stages(kept, over - 1), stages(kept, over)[1:]) == (
        [("admitted", "", 10)],
        [("disposed", "its time is over", over)],
    )
    assert stages(short, 20)[1:] == [("disposed", "its time is over", 20)]
    assert stages(gone, 30)[1:] == [("disposed", "", 15)]


def test_what_is_no_event_has_no_cargo() -> None:
    """Nor has a line, nor an event that is settled without one."""
    assert [has_cargo(content) for content in (booked(), PLAIN, b"", b"\xc1", b"\x80")] == [True] + [False] * 4
