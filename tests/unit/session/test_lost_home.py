"""A session whose home comes back without its disk."""

from __future__ import annotations

from agvent.filters.subscription import Subscription
from agvent.session.session import Session
from agvent.wire.client_messages import Attached, Subscribe, Subscribed


def attached(session: Session, incarnation: int) -> list[Subscribe]:
    """What the session says of subscriptions when its broker, in this incarnation, has welcomed it."""
    session.link_up()
    session.take()
    session.receive(Attached(broker="b1", incarnation=incarnation, credit=64))
    return [message for message in session.take() if isinstance(message, Subscribe)]


def test_each_subscription_is_said_once_and_as_a_new_version() -> None:
    """Answered or not, a home that knows nothing hears it once: versions of the home before are not given again."""
    session = Session("ann")
    attached(session, 1)
    answered = session.subscribe(Subscription(id="cheap"))
    session.receive(Subscribed(answered, {"b1": 1}, ()))
    session.subscribe(Subscription(id="dear"))
    before = {one.version for one in session.subscriptions.values()}
    session.link_down()
    said = attached(session, 2)
    assert sorted(one.subscription.id for one in said) == ["cheap", "dear"]
    assert not before & {one.version for one in said}


def test_a_home_with_its_disk_hears_only_what_it_did_not_answer() -> None:
    """A broken link changes no version."""
    session = Session("ann")
    attached(session, 1)
    answered = session.subscribe(Subscription(id="cheap"))
    session.receive(Subscribed(answered, {"b1": 1}, ()))
    session.subscribe(Subscription(id="dear"))
    version = session.subscriptions["dear"].version
    session.link_down()
    assert [(one.subscription.id, one.version) for one in attached(session, 1)] == [("dear", version)]
