"""The alternative routing table: learned from traces, chosen by cost."""

from __future__ import annotations

from agvent.broker.routing.routes import Routes, cost_of


def routes(**links: int) -> Routes:
    """The table of AS9 with live links of these round trips in milliseconds."""
    made = Routes("AS9")
    for neighbour, rtt_ms in links.items():
        made.up(neighbour, rtt_ms * 1_000)
    return made


def test_a_trace_teaches_the_way_back() -> None:
    """Who passed a message along can pass something back, to everybody the message had passed."""
    table = routes(AS8=4)
    table.learn((("AS1", 2_000), ("AS2", 300), ("AS8", 4_000)))
    assert [table.choose(broker) for broker in ("AS8", "AS2", "AS1", "AS7")] == ["AS8", "AS8", "AS8", None]
    assert table.known("AS1") == {"AS8": 2_300}
    assert table.known("AS2") == {"AS8": 300}


def test_what_a_message_passed_before_it_was_here_is_not_behind_its_sender() -> None:
    """A trace that goes through this broker says nothing of what lies before it."""
    table = routes(AS8=4)
    table.learn((("AS1", 100), ("AS9", 100), ("AS8", 100)))
    assert table.choose("AS1") is None


def test_the_cheapest_live_way_is_taken_and_the_next_ones_on_later_attempts() -> None:
    """Among several ways cost decides; attempts go through them in turn; a link that is down is not used."""
    table = routes(AS8=4, AS10=4)
    table.learn((("AS1", 2_048), ("AS8", 2_048)))
    table.learn((("AS1", 2_048), ("AS7", 2_048), ("AS10", 2_048)))
    assert [table.choose("AS1", attempt=attempt) for attempt in range(3)] == ["AS8", "AS10", "AS8"]
    assert table.choose("AS1", avoid={"AS8"}) == "AS10"
    table.down("AS8")
    assert table.choose("AS1") == "AS10"
    table.up("AS8", 4_000)
    assert table.choose("AS1") == "AS8"


def test_a_clogged_link_is_avoided() -> None:
    """What waits for a link is part of its cost (Narada §3)."""
    table = routes(AS8=4, AS10=4)
    table.learn((("AS1", 2_048), ("AS8", 2_048)))
    table.learn((("AS1", 2_048), ("AS7", 2_048), ("AS10", 2_048)))
    table.measure("AS8", 4_000, 100)
    assert table.choose("AS1") == "AS10"
    table.measure("AS8", 4_000, 0)
    assert table.choose("AS1") == "AS8"


def test_a_proof_replaces_what_was_known() -> None:
    """An answer from the broker itself leaves that way alone, and the link to it if it is a neighbour."""
    table = routes(AS8=4, AS10=4)
    table.learn((("AS12", 100), ("AS8", 100)))
    table.prove("AS12", (("AS12", 9_000), ("AS10", 100)))
    assert table.known("AS12") == {"AS10": 9_000}
    table.prove("AS8", (("AS8", 9_000), ("AS10", 100)))
    assert table.known("AS8") == {"AS8": 0, "AS10": 9_000}


def test_noise_does_not_change_a_cost() -> None:
    """Round trips that differ by a fifth cost the same; twice as long costs twice as much."""
    assert cost_of(4_000, 0) == cost_of(4_800, 0)
    assert cost_of(8_000, 0) == 2 * cost_of(4_000, 0)
