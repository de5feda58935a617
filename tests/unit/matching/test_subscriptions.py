"""The index as its users see it."""

from __future__ import annotations

import pyarrow as pa
import pytest

from agvent.errors import EventError, FilterError, SubscriptionError
from agvent.event import Event
from agvent.filters.subscription import Subscription
from agvent.matching import subscriptions as module
from agvent.matching.encoders.json_lines import encode_json
from agvent.matching.index import search
from agvent.matching.subscriptions import Subscriptions

STOCK = {"symbol": "IBM", "price": 12.5, "volume": 100}


def index(**filters: str) -> Subscriptions:
    return Subscriptions(Subscription(id=id, filter=text) for id, text in filters.items())


def test_ids_come_in_code_point_order() -> None:
    """Matches of one event are ordered by id, not by when they were added."""
    made = index(b="price > 1", Z="price > 1", a="price > 1", é="price > 1")
    assert made.match(STOCK) == ["Z", "a", "b", "é"]


def test_type_topic_and_filter_all_have_to_hold() -> None:
    """A subscription that names a type, a topic and a filter asks for all three."""
    made = Subscriptions([Subscription(id="s", type="Quote", topic="Stocks/US", filter="price > 10")])
    right = {"$type": "Quote", "$topic": "Stocks/US", **STOCK}
    assert made.match(right) == ["s"]
    assert made.match({**right, "$type": "Trade"}) == []
    assert made.match({**right, "$topic": "Stocks"}) == []
    assert made.match({**right, "price": 1}) == []


def test_a_subscription_to_a_type_receives_its_subtypes() -> None:
    """`ancestors` of an event's type count as its types."""
    made = Subscriptions([Subscription(id="all", type="Publication"), Subscription(id="books", type="Book")])
    assert made.match(Event(type="Book", ancestors=("Publication",))) == ["all", "books"]
    assert made.match(Event(type="Publication")) == ["all"]


def test_an_empty_filter_means_the_topic_alone() -> None:
    """Narada §7.1.2: with no refinement the topic decides, and with nothing at all every event matches."""
    made = Subscriptions([Subscription(id="topic", topic="a/b"), Subscription(id="everything")])
    assert made.match({"$topic": "a/b"}) == ["everything", "topic"]
    assert made.match({}) == ["everything"]


def test_channels_topics_patterns_and_tags() -> None:
    """Every way of addressing runs through the one index."""
    made = Subscriptions(
        [
            Subscription(id="channel", channel=42),
            Subscription(id="integer", topic=7),
            Subscription(id="pattern", pattern="Sports/+/scores/#"),
            Subscription(id="tags", language="tags", filter="Make=Ford,Model=*,Year=2003"),
        ]
    )
    assert made.match({"$channel": 42}) == ["channel"]
    assert made.match({"$topic": 7}) == ["integer"]
    assert made.match({"$topic": "Sports/NBA/scores"}) == ["pattern"]
    assert made.match({"$topic": "Sports/NBA/scores/today/live"}) == ["pattern"]
    assert made.match({"$topic": "Sports/NBA/news"}) == []
    assert made.match({"Make": "Ford", "Model": "Taurus", "Year": 2003}) == ["tags"]
    assert made.match({"Make": "Ford", "Model": "Taurus", "Year": "2003"}) == ["tags"]
    assert made.match({"Make": "Ford", "Year": 2003}) == []


@pytest.mark.parametrize("compacted", [False, True], ids=["tail", "snapshot"])
def test_integers_beyond_2_to_the_53_compare_exactly(compacted: bool) -> None:
    """9007199254740993 is not 9007199254740992, though both are the same float."""
    made = index(
        equal="n = 9007199254740993",
        other="n <> 9007199254740992",
        between="n > 9007199254740992 AND n < 9007199254740994",
        member="n IN (1, 9007199254740993)",
        float="n = 9007199254740992.0",
    )
    if compacted:
        made.compact()
    assert made.match({"n": 9007199254740993}) == ["between", "equal", "member", "other"]
    assert made.match({"n": 9007199254740992}) == ["float"]
    assert made.match({"n": 9007199254740992.0}) == ["float"]


def test_two_conditions_on_one_field_and_contains_all() -> None:
    """What event-ruler's users ask for (#69, #126): two conditions on a field, and a list with all of some values."""
    made = index(both="price > 10 AND price < 20 AND price <> 12", all="contains(tags, 'a') AND contains(tags, 'b')")
    assert made.match({"price": 15, "tags": ["b", "x", "a"]}) == ["all", "both"]
    assert made.match({"price": 12, "tags": ["a", "a"]}) == []


def test_a_repeated_element_matches_once() -> None:
    """A list that has the value twice is one match."""
    made = index(s="contains(tags, 'a')")
    made.compact()
    assert made.match({"tags": ["a", "a"]}) == ["s"]


def test_several_rows_of_one_subscription_are_one_match() -> None:
    """An OR whose branches both hold gives the subscription once."""
    made = index(s="symbol = 'IBM' OR price > 10 OR volume = 100")
    assert made.match(STOCK) == ["s"]
    made.compact()
    assert made.match(STOCK) == ["s"]
    assert len(made.match_batch([STOCK] * 20)) == 20


def test_replacing_removing_and_reusing_an_id() -> None:
    """An id has one filter at a time, and is free again when it is removed."""
    made = index(s="price > 10")
    made.replace("s", "price > 20")
    assert made.match(STOCK) == []
    made.remove("s")
    assert ("s" in made, len(made), list(made)) == (False, 0, [])
    made.add("s", "price > 10")
    assert made.match(STOCK) == ["s"]
    assert made.get("s") == Subscription(id="s", filter="price > 10")


def test_a_taken_id_an_unknown_id_and_a_bad_filter_change_nothing() -> None:
    """What is refused leaves the index as it was."""
    made = index(s="price > 10")
    with pytest.raises(SubscriptionError, match="there is a subscription 's' already"):
        made.add("s", "price > 1")
    with pytest.raises(SubscriptionError, match="there is no subscription 't'"):
        made.remove("t")
    with pytest.raises(SubscriptionError, match="there is no subscription 't'"):
        made.replace("t", "price > 1")
    with pytest.raises(FilterError):
        made.replace("s", "price >")
    with pytest.raises(SubscriptionError, match="destination -1 is not in"):
        made.add("t", "price > 1", destination=-1)
    assert (made.match(STOCK), len(made)) == (["s"], 1)


@pytest.mark.parametrize("size", [3, 3000], ids=["few", "bulk"])
def test_add_many_adds_all_or_none(size: int) -> None:
    """One bad subscription among many leaves none of them, and the index works on."""
    made = index(s="price > 10")
    many = [Subscription(id=f"m{n}", filter=f"price > {n} AND symbol = 'x{n}'") for n in range(size)]
    with pytest.raises(FilterError):
        made.add_many([*many, Subscription(id="bad", filter="price >")])
    assert (made.match({"price": 1e9, "symbol": "x1"}), len(made)) == (["s"], 1)
    with pytest.raises(SubscriptionError):
        made.add_many([*many, many[0]])
    assert made.add_many(many) == size
    assert made.match({"price": 1e9, "symbol": "x1"}) == ["m1", "s"]


def test_an_event_that_is_none_is_refused() -> None:
    """A value no event can have raises and names its type."""
    made = index(s="price > 10")
    with pytest.raises(EventError, match="complex"):
        made.match({"price": 1j})


def test_batches_of_arrow_json_and_python_agree() -> None:
    """The three forms of a batch give the same matches."""
    made = index(a="symbol = 'IBM'", b="price > 20", c="volume IS NULL", d="symbol LIKE 'I%' AND price < 20")
    events = [STOCK, {"symbol": "HP", "price": 21.0, "volume": None}, {"symbol": "INTC", "price": 3.0, "volume": 1}]
    lines = b"\n".join(
        (
            b'{"symbol": "IBM", "price": 12.5, "volume": 100}',
            b'{"symbol": "HP", "price": 21.0}',
            b'{"symbol": "INTC", "price": 3, "volume": 1}',
        )
    )
    wanted = [(0, ["a", "d"]), (1, ["b", "c"]), (2, ["d"])]
    assert list(made.match_batch(events).by_event()) == wanted
    assert list(made.match_batch(pa.RecordBatch.from_pylist(events)).by_event()) == wanted
    assert list(made.match_batch(pa.Table.from_pylist(events)).by_event()) == wanted
    assert list(made.match_json(lines).by_event()) == wanted
    assert made.match_json(lines).to_arrow().to_pydict() == {
        "event": [0, 0, 1, 1, 2],
        "subscription": made.match_json(lines).ids(),
    }


def test_malformed_lines_are_rejected_by_number_and_match_nothing() -> None:
    """A line that is no event is counted, reported and skipped; a blank one is only counted."""
    made = index(s="a IS NULL")
    found = made.match_json(b'{"b": 1}\n{"b": }\n\n[1]\n{"b": 2}')
    assert [rejected.event for rejected in found.rejected] == [1, 3]
    assert (list(found.by_event()), found.event_count) == ([(0, ["s"]), (4, ["s"])], 5)


def test_behaviours_are_called_through_the_interface() -> None:
    """A call is asked for only where the attributes already match; without an interface it is unknown."""
    asked: list[tuple[str, tuple[object, ...]]] = []

    def behaviours(name: str, args: tuple[object, ...]) -> bool:
        asked.append((name, args))
        return True

    made = index(s="author = 'V. P.' AND references_contain('Alonso, E.')", t="NOT references_contain('x')")
    assert made.match({"author": "somebody"}, lambda *_: None) == []
    assert made.match({"author": "V. P."}) == []
    assert made.match({"author": "V. P."}, behaviours) == ["s"]
    assert ("references_contain", ("Alonso, E.",)) in asked


def test_a_table_is_matched_whole() -> None:
    """In one chunk, in several, or in none, its rows counted through."""
    made = index(a="n > 2")
    parts = [pa.table({"n": [1, 5], "x": ["a", "b"]}), pa.table({"n": [7], "x": ["c"]})]
    assert list(made.match_batch(pa.concat_tables(parts)).by_event()) == [(1, ["a"]), (2, ["a"])]
    assert made.match_batch(parts[0].slice(0, 0)).event_count == 0
    assert made.destinations(pa.concat_tables(parts)).tolist() == [[0], [1], [1]]


def test_what_has_a_schema_and_is_no_batch_is_refused() -> None:
    """A reader of batches is read by whoever has it."""
    with pytest.raises(EventError) as caught:
        index(a="n > 2").match_batch(pa.table({"n": [1]}).to_reader())
    assert caught.value.message == "RecordBatchReader is not a record batch or table"


def test_destinations_are_bit_vectors() -> None:
    """Destination d is bit d % 64 of word d // 64."""
    made = Subscriptions()
    made.add("near", "price > 10", destination=3)
    made.add("far", "price > 10", destination=70)
    made.add("dear", "price > 1000", destination=5)
    assert made.destinations([STOCK, {}]).tolist() == [[1 << 3, 1 << 6], [0, 0]]
    made.compact()
    assert made.destinations([STOCK, {}]).tolist() == [[1 << 3, 1 << 6], [0, 0]]


def test_explain_names_the_reason() -> None:
    """`explain` answers for a subscription and an event why it did not match."""
    made = index(s="price > 100 AND symbol = 'IBM'")
    assert str(made.explain(STOCK, "s")).splitlines()[0] == (
        "does not match because price > 100 is false: price is 12.5"
    )


def test_statistics_tell_how_subscriptions_are_found() -> None:
    """Each path that the index has shows up under its name."""
    made = index(
        equality="symbol = 'IBM'",
        member="symbol IN ('A', 'B')",
        prefix="symbol LIKE 'I%'",
        suffix="ends_with(symbol, 'M')",
        element="contains(tags, 5)",
        range="price > 10",
        scan="NOT price < 10 AND price + volume > 3",
        oracle="price + volume > 3",
    )
    made.compact()
    found = made.statistics()
    assert found.paths == {"equality": 3, "prefix": 1, "suffix": 1, "element": 1, "scan": 3}
    assert (found.subscriptions, found.rows, found.tail_rows, found.residual_rows) == (8, 8, 0, 2)
    assert found.index_bytes > 0


def test_the_dictionary_forgets_strings_that_nobody_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Subscriptions that come and go for ever do not fill the memory."""
    monkeypatch.setattr(module, "RETIRED_MIN", 500)
    made = index(kept="symbol = 'IBM'")
    for n in range(2000):
        made.add("s", f"symbol = 'x{n}'")
        made.remove("s")
    assert made.statistics().strings < 600
    assert (made.match(STOCK), len(made)) == (["kept"], 1)


@pytest.mark.parametrize("members", [1000, 2000], ids=["by its members", "verified"])
def test_a_long_watch_list_is_one_subscription(members: int) -> None:
    """An IN is found by its members up to 1,024 of them, and verified beyond; both give the same matches."""
    made = index(s=f"symbol IN ({', '.join(repr(f'x{n}') for n in range(members))}) AND price > 10")
    made.compact()
    found = [made.match({"symbol": f"x{n}", "price": 11}) for n in (0, members - 1, members)]
    assert (found, made.match({"symbol": "x0", "price": 10})) == ([["s"], ["s"], []], [])


@pytest.mark.parametrize("text", ["x BETWEEN -0.0 AND 0.0", "x BETWEEN -0e0 AND 0", "x > -5e-324 AND x < 5e-324"])
def test_a_range_that_is_the_point_zero_holds_zero(text: str) -> None:
    """-0.0 and 0.0 are one number, also as the two ends of a range."""
    made = index(s=text)
    made.add("t", text, topic="t")
    made.compact()
    assert (made.match({"x": 0}), made.match({"x": -0.0, "$topic": "t"})) == (["s"], ["s", "t"])


def test_a_batch_of_many_matches_takes_several_runs() -> None:
    """Matches beyond the room of one run are all found, and the room stays within its bound."""
    made = Subscriptions(Subscription(id=f"s{n}") for n in range(500))
    found = made.match_batch([{}] * 5000)
    assert (len(found), found.ends[:3].tolist()) == (2_500_000, [500, 1000, 1500])
    assert len(search._local.buffers.subscription) <= search.ROOM_MAX


def test_an_event_is_made_once_for_all_residuals() -> None:
    """Many opaque filters decode a line once."""
    made = Subscriptions(Subscription(id=f"s{n}", filter=f"regex(x, 'a{n}')") for n in range(50))
    state, lines = made._state, b'{"x": "a1"}\n{"x": "a2"}\n'
    batch = encode_json(lines, state.store.slots, state.strings)
    decode, decoded = batch.event, list[int]()
    batch.event = lambda row: (decoded.append(row), decode(row))[1]  # type: ignore[func-returns-value]
    found = search.search(state, state.mark, batch, None)
    assert (found.ends.tolist(), decoded) == ([1, 2], [0, 1])


@pytest.mark.parametrize("wrong", [None, {"id": "s"}, 5])
def test_what_is_no_subscription_is_refused(wrong: object) -> None:
    """Neither a mapping nor nothing is taken for a subscription."""
    with pytest.raises(SubscriptionError, match="a subscription is a Subscription or its id"):
        Subscriptions().add(wrong)  # type: ignore[arg-type]


def test_batches_have_fewer_rows_the_more_attributes_are_asked_for() -> None:
    """`batch_rows` bounds the memory of a batch's columns."""
    few, many = index(s="a > 1"), Subscriptions(Subscription(id=f"s{n}", filter=f"a{n} > 1") for n in range(20_000))
    assert (few.batch_rows, many.batch_rows) == (16_384, 419)
