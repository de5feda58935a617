"""Deliveries that come nearly in order."""

from __future__ import annotations

from random import Random

from agvent.session.inbox import Inbox
from agvent.wire.client_messages import Deliver, Gap


def delivery(number: int, publisher: str, behind: int) -> Deliver:
    return Deliver(
        number=number,
        after=number - 1,
        behind=behind,
        publisher=publisher,
        sequence=number,
        fast=False,
        event=b"",
        subscriptions=("s",),
    )


def test_a_large_delivery_holds_back_its_own_publisher_only() -> None:
    """What waits for an earlier one of its publisher waits; others pass; the acknowledgement waits for all."""
    inbox = Inbox()
    large, other, next_of_large = delivery(1, "p", 0), delivery(2, "q", 0), delivery(3, "p", 1)
    assert (inbox.take(other), inbox.received) == ([other], 0)
    assert (inbox.take(next_of_large), inbox.received) == ([], 0)
    assert (inbox.take(large), inbox.received) == ([large, next_of_large], 3)


def test_what_was_given_is_not_given_again_after_a_break() -> None:
    """After a break everything unacknowledged comes again, and only what the caller lacks is given."""
    inbox = Inbox()
    first, second = delivery(1, "p", 0), delivery(2, "q", 0)
    assert inbox.take(second) == [second]
    inbox.begin_anew()
    assert [inbox.take(one) for one in (first, second, first)] == [[first], [], []]
    assert inbox.received == 2


def test_what_went_from_the_brokers_queue_is_not_waited_for() -> None:
    """After a break what follows may stand on something before what was given: between them nothing comes any more."""
    inbox = Inbox()
    for one in (delivery(1, "p", 0), delivery(2, "q", 0)):
        inbox.take(one)
    inbox.begin_anew()
    third = Deliver(number=3, after=1, behind=0, publisher="q", sequence=3, fast=False, event=b"", subscriptions=("s",))
    assert (inbox.take(delivery(1, "p", 0)), inbox.take(third), inbox.received) == ([], [third], 3)


def test_any_order_gives_each_once_and_each_publisher_in_order() -> None:
    """Whatever the order of arrival, and with breaks between, every delivery is given once, in its publisher's
    order."""
    for seed in range(50):
        random = Random(seed)
        last: dict[str, int] = {}
        sent: list[Deliver] = []
        for number in range(1, 30):
            publisher = random.choice("pqr")
            sent.append(delivery(number, publisher, last.get(publisher, 0)))
            last[publisher] = number
        inbox = Inbox()
        given: list[Deliver | Gap] = []
        while inbox.received < 29:
            waiting = sent[inbox.received :]
            random.shuffle(waiting)
            for one in waiting[: random.randrange(len(waiting) + 1)] if random.random() < 0.5 else waiting:
                given += inbox.take(one)
            if inbox.received < 29:
                # Only a prefix that arrived whole is a chain from the last acknowledged one.
                inbox.begin_anew()
        assert sorted(one.number for one in given) == list(range(1, 30))
        for publisher in "pqr":
            numbers = [one.number for one in given if one.publisher == publisher]
            assert numbers == sorted(numbers)
