"""The manager agent: what it tells, what it agrees to, what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from agvent import limits
from agvent.agents.travel.manager_agent import ManagerAgent
from agvent.agents.travel.stop import Decision, Departure
from agvent.event import Budget
from tests.couriers import surroundings


def ask(agent: ManagerAgent, ref: str) -> Any:
    reply = agent.reply({"performative": "query-ref", "content": {"ref": ref}})
    assert reply["performative"] == "inform"
    return reply["content"]


def request(agent: ManagerAgent, action: str, **content: Any) -> str:
    """Empty if it agreed, else why not."""
    reply = agent.reply({"performative": "request", "content": {"action": action, **content}})
    assert reply["performative"] in ("agree", "refuse")
    return str(reply["content"].get("reason", ""))


def test_it_tells_what_the_broker_knows() -> None:
    """Targets and neighbours with costs, subscribers with contexts, and what is left of the budget."""
    agent = ManagerAgent(surroundings(budget=Budget(3, 2, 5_000, 9)))
    assert ask(agent, "server") == "A"
    assert ask(agent, "targets")[0] == {"broker": "B", "cost": 200, "via": "B"}
    assert ask(agent, "neighbours") == [{"broker": "B", "cost": 200}, {"broker": "C", "cost": 100}]
    assert ask(agent, "subscribers")[1] == {"id": "bob/1", "name": "bob", "context": {"stock": 5}}
    assert request(agent, "clone", to="B", targets=["B", "D"]) == ""
    assert ask(agent, "budget") == {"hops": 3, "clones": 1, "bytes": 4_000, "time_us": 9}
    assert ask(agent, "targets") == [{"broker": "C", "cost": 100, "via": "C"}]


def test_a_decision_is_what_was_agreed_to() -> None:
    """Some subscribers here, a clone with two targets, and the rest moves."""
    agent = ManagerAgent(surroundings())
    assert request(agent, "deliver", subscribers=["bob/1"]) == ""
    assert request(agent, "clone", to="B", targets=["B", "D"]) == ""
    assert request(agent, "move", to="C") == ""
    assert agent.decision(b"dump") == Decision(
        ("bob/1",), (Departure("B", ("B", "D")),), Departure("C", ("C",)), b"dump"
    )


@pytest.mark.parametrize(
    ("action", "content", "reason"),
    [
        ("deliver", {"subscribers": ["eve/1"]}, "'eve/1' is not a matching subscriber here"),
        ("deliver", {"subscribers": "ann/1"}, "subscribers are a list of ids"),
        ("clone", {"to": "Z", "targets": ["B"]}, "'Z' is neither a target nor a neighbour"),
        ("clone", {"to": "B", "targets": ["Z"]}, "a clone takes targets that the agvent has"),
        ("clone", {"to": "B", "targets": []}, "a clone takes targets that the agvent has"),
        ("clone", {"to": ["B"]}, "a clone takes targets that the agvent has"),
        ("move", {"to": "A"}, "'A' is neither a target nor a neighbour"),
    ],
)
def test_it_never_widens(action: str, content: dict[str, Any], reason: str) -> None:
    """Who is no target or subscriber here is refused, and nothing is decided."""
    agent = ManagerAgent(surroundings())
    assert request(agent, action, **content) == reason
    assert agent.decision() == Decision()


@pytest.mark.parametrize(
    ("budget", "action", "reason"),
    [
        (Budget(hops=0), "move", "its budget of hops is spent"),
        (Budget(clones=0), "clone", "its budget of clones is spent"),
        (Budget(bytes=999), "clone", "its budget of bytes is spent"),
    ],
)
def test_a_budget_is_refused_and_told(budget: Budget, action: str, reason: str) -> None:
    """A request beyond the budget is refused, and the decision says so once."""
    agent = ManagerAgent(surroundings(budget=budget))
    assert [request(agent, action, to="B"), request(agent, action, to="C")] == [reason, reason]
    assert agent.decision() == Decision(refused=(reason,))


def test_two_instances_do_not_leave_for_one_broker() -> None:
    """A clone that is on its way somewhere is not followed there by another."""
    agent = ManagerAgent(surroundings())
    assert request(agent, "clone", to="B") == ""
    assert request(agent, "clone", to="B", targets=["D"]) == "a clone goes to B already"


def test_after_disposal_nothing_is_agreed_to() -> None:
    """What was agreed to before stays."""
    agent = ManagerAgent(surroundings())
    assert request(agent, "clone", to="B") == ""
    assert request(agent, "dispose") == ""
    assert request(agent, "deliver") == "disposed of"
    assert agent.decision() == Decision(clones=(Departure("B", ("B",)),))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"performative": "query-ref"}, "refs are server, targets, neighbours, subscribers, budget"),
        ({"performative": "request", "content": {"action": "fly"}}, "actions are deliver, clone, move, dispose"),
        ({"performative": "request", "sender": "house:2"}, "house:1 speaks, not 'house:2'"),
        ({"performative": "request", "receiver": ["B", "C"]}, "A is spoken to, not 'B'"),
        ("hello", "not an ACL message: Expected `object`, got `str`"),
        (
            {"performative": "request", "content": {"action": "move", "to": 10**6_000}},
            "no values: can't serialize ints < -2**63 or > 2**64 - 1",
        ),
    ],
    ids=["ref", "action", "sender", "receiver", "text", "integer"],
)
def test_nonsense_is_not_understood(values: Any, reason: str) -> None:
    """A ref, action, sender or receiver that there is not, values that no event has, or no message at all."""
    reply = ManagerAgent(surroundings()).reply(values)
    assert (reply["performative"], reply["content"]) == ("not-understood", {"reason": reason})


def test_a_message_to_it_among_others_is_answered() -> None:
    """What the others reply is theirs to say."""
    agent = ManagerAgent(surroundings())
    reply = agent.reply({"performative": "query-ref", "receiver": ["B", "A"], "content": {"ref": "server"}})
    assert (reply["performative"], reply["content"]) == ("inform", "A")


def test_it_tires_of_many_messages_and_of_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is said at a stop is counted."""
    monkeypatch.setattr(limits, "STOP_MESSAGES_MAX", 3)
    for words, tired in (("", [False] * 3 + [True]), ("x" * (limits.STOP_SAID_BYTES_MAX // 2), [False, True])):
        agent, found = ManagerAgent(surroundings()), []
        for _ in tired:
            agent.reply({"performative": "query-ref", "content": {"ref": words}})
            found.append(agent.is_tired)
        assert found == tired


def test_a_late_message_is_refused() -> None:
    """reply-by is a time of the broker's clock."""
    late = {"performative": "query-ref", "content": {"ref": "server"}, "reply-by": datetime(2001, 1, 1, tzinfo=UTC)}
    reply = ManagerAgent(surroundings()).reply(late)
    assert (reply["performative"], reply["content"]) == ("refuse", {"reason": "reply-by is over"})
