"""Plans: a run noted step by step is the same run again, and a failing one is made small."""

from __future__ import annotations

import pytest

from agvent.sim.plan import ScriptError, read_script
from agvent.sim.reduce import reduce, violations_of
from agvent.sim.replay import plan_of
from agvent.sim.run import planned, replayed, simulated
from agvent.sim.scenario import Scenario, Workload, scenario_of
from agvent.sim.smaller import merged, without
from agvent.wire.client_messages import Deliver
from tests.sim import broken

SMALL = """\
# Somebody subscribes, somebody publishes.
seed 39
links B1-B2 B2-B3
limits {"DELIVERY_WINDOW":1}
machine {"turn_us":200}
     3.000000  ada    attach       {"home":"B3"}
     3.000000  p      attach       {"home":"B1"}
     4.000000  ada    subscribe    {"subscription":{"id":"s1","filter":"price > 3"}}
     5.200000  p      publish      {"event":{"price":4,"$program":"Quote"},"fast":true}
     5.300000  p      publish      {"event":{"price":5},"expires":9000000}
     6.000000  B2     crash        {"with_disk":true}
     7.500000  B2     start
    20.000000  *      mend
"""


@pytest.mark.parametrize("first", range(0, 48, 8))
def test_a_plan_is_the_run_that_it_was_noted_in(first: int) -> None:
    """Every frame is the same at the same time. If this fails, something is done to a world past doings.py."""
    for seed in range(first, first + 8):
        scenario = scenario_of(seed)
        world = simulated(scenario)
        plan = read_script(plan_of(world, scenario).script())
        assert replayed(plan).digest.hexdigest() == world.digest.hexdigest(), seed


def test_a_script_is_read_as_it_was_written() -> None:
    """A plan and its script say the same."""
    plan = read_script(SMALL)
    assert plan.script() == SMALL.split("\n", 1)[1]
    assert plan.sizes == {"steps": 8, "brokers": 3, "clients": 2, "limits": 1}
    assert plan.mended_at == 20_000_000


def test_the_steps_of_a_script_are_done() -> None:
    """ada receives both events, though the broker between them crashes; one fault is counted."""
    world = replayed(read_script(SMALL))
    chaos = [told for told in world.history.told if told.at < world.began + 20_000_000]
    assert [told.client for told in chaos if isinstance(told.message, Deliver)] == ["ada", "ada"]
    published = [call for call in world.history.asked if call.method == "publish"]
    assert [call.args[0].attributes for call in published[:2]] == [{"price": 4}, {"price": 5}]
    assert world.history.faults == {"crash": 1}
    assert violations_of(read_script(SMALL)) == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("5 p publish", "is not a step"),
        ("soon p publish {}", "is not a step"),
        ("5 B1 explode", "'explode' is nothing"),
        ("5 B1 crash", "missing a required argument: 'with_disk'"),
        ('5 B1 crash {"with_disk":true,"loudly":true}', "'loudly'"),
        ('5 p advertise {"type":"Nothing"}', "Nothing"),
        ("limits {'x'}", "the head of a script"),
        ('limits {"SPEED":1}', "SPEED is not a limit"),
        ("links B1", "the head of a script"),
        ("9 * mend", "one step 'mend'"),
    ],
)
def test_a_wrong_line_of_a_script_is_a_mistake(line: str, words: str) -> None:
    """It is said what is wrong."""
    heads = SMALL.replace("limits", "# limits") if line.startswith("limits") else SMALL
    heads = heads.replace("links", "# links") if line.startswith("links") else heads
    with pytest.raises(ScriptError, match=words):
        replayed(read_script(heads + line))


def test_what_has_no_place_is_nothing() -> None:
    """Each step of a plan can be taken away, and what is left is still a run."""
    plan = planned(scenario_of(9))
    for at in range(0, len(plan.steps), len(plan.steps) // 12):
        replayed(without(plan, plan.steps[:at]))


def test_a_failing_run_is_made_small() -> None:
    """A broker that delivers to everybody needs one subscription and one event to be seen; the good broker passes."""
    plan = planned(Scenario(seed=2, topology="star", faults="crashes", workload=Workload(actions=30)))
    found = reduce(plan, make=broken.DeliversToEverybody)
    assert found is not None
    assert found.violation.startswith("unasked: ")
    assert (len(found.plan.brokers), found.plan.limits) == (2, {})
    assert sorted(step.what for step in found.plan.steps) in (
        ["attach", "attach", "mend", "publish", "subscribe"],
        ["attach", "mend", "publish", "subscribe"],
    )
    assert violations_of(found.plan, make=broken.DeliversToEverybody)[0].startswith("unasked: ")
    assert violations_of(found.plan) == ()


def test_a_crash_is_made_small_too() -> None:
    """A run that ends with an exception has its plan up to there, and the same exception is looked for."""

    class Refuses(broken.Broken):
        def step(self, *args: object) -> list[object]:  # type: ignore[override]
            if self.tables.local.current:
                raise ValueError("a subscription")
            return super().step(*args)  # type: ignore[arg-type, return-value]

    found = reduce(planned(scenario_of(0), make=Refuses), make=Refuses)
    assert found is not None
    assert found.violation.startswith("crash: ValueError: a subscription")
    assert [step.what for step in found.plan.steps] == ["attach", "subscribe", "mend"]


def test_there_is_nothing_to_make_small_of_a_good_run() -> None:
    assert reduce(read_script(SMALL)) is None


def test_a_broker_becomes_one_with_its_neighbour() -> None:
    """Its clients are at home there, and nothing happens to it any more."""
    plan = merged(read_script(SMALL), "B2", "B1")
    assert plan.edges == (("B1", "B3"),)
    assert [step.what for step in plan.steps if step.who == "B2"] == []


def test_a_client_without_a_process_has_another_after_chaos() -> None:
    """In a plan without the steps of a next process, somebody still takes what waits for a client."""
    plan = read_script(SMALL.replace("    20.0", "     8.000000  ada    end\n    20.0"))
    assert replayed(plan).clients.keys() == {"ada", "p", "ada+1"}
    assert violations_of(plan) == ()


LEFT = """\
seed 26
links B1-B2 B2-B3 B3-B1
     3.000000  c2     attach       {"home":"B3"}
     5.000000  B3     full_disk    {"is_full":true}
     6.000000  c2     subscribe    {"subscription":{"id":"s8","pattern":"#"}}
     6.000000  B2     retire
     6.000000  B3     crash        {"with_disk":true}
     7.000000  B1     crash        {"with_disk":false}
     8.000000  *      mend
"""


def test_the_operator_tells_a_broker_that_knows_who_left() -> None:
    """B2 leaves while B3 is down, and B1 loses what it heard of that: B1 would refuse to forget an unknown name."""
    assert violations_of(read_script(LEFT)) == ()
