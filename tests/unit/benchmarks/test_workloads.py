"""The benchmarks' workloads are what docs/performance.md says, and the engines agree on them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from agvent.filters.subscription import Subscription
from index import Index
from lxml_loop import LxmlLoop
from python_loop import PythonLoop
from scan import Scan
from shapes import operands, shape_of
from workloads import NAMES, SQL_NAMES, Interest, selector, workload, xpath
from worlds import EXCHANGES


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    given: str = request.param
    return given


def test_equal_seeds_give_equal_workloads(name: str) -> None:
    first, again = workload(name, 7), workload(name, 7)
    assert first.subscriptions(300) == again.subscriptions(300)
    assert first.events_json(300) == again.events_json(300)


def test_another_seed_gives_another_workload(name: str) -> None:
    assert workload(name, 7).subscriptions(50) != workload(name, 8).subscriptions(50)
    assert workload(name, 7).events(50) != workload(name, 8).events(50)


def test_events_do_not_depend_on_how_many_subscriptions_were_drawn(name: str) -> None:
    made = workload(name, 7)
    before = made.events(20)
    made.subscriptions(100)
    assert made.events(20) == before


def test_files_hold_what_was_drawn(name: str, tmp_path: Path) -> None:
    made = workload(name, 7)
    wanted, published = made.write(tmp_path, subscriptions=30, events=20)
    lines = [msgspec.json.decode(line, type=Subscription) for line in wanted.read_bytes().splitlines()]
    assert [(one.id, one.language, one.filter) for one in lines] == [
        (one.id, made.language, one.filter) for one in made.subscriptions(30)
    ]
    assert msgspec.json.Decoder().decode_lines(published.read_bytes()) == made.events(20)


def forms(interests: list[Interest]) -> Counter[str]:
    """How often each form of condition occurs, per hundred subscriptions."""
    found = Counter("&".join(f"{p[0]}{p[1]}" for p in one.predicates) for one in interests)
    return Counter({form: round(100 * count / len(interests)) for form, count in found.items()})


def test_a1_is_a_symbol_and_a_price_range_with_a_volume_in_half_and_an_exchange_in_three_of_ten() -> None:
    found = forms(workload("A1", 1).subscriptions(20_000))
    assert found == pytest.approx(
        {
            "symbol=&pricebetween": 35,
            "symbol=&pricebetween&volume>": 35,
            "symbol=&pricebetween&exchange=": 15,
            "symbol=&pricebetween&volume>&exchange=": 15,
        },
        abs=1,
    )


def test_a2_b_and_c_have_their_shapes() -> None:
    assert forms(workload("A2", 1).subscriptions(2_000)) == {"pricebetween&volumebetween&changebetween": 100}
    assert forms(workload("B", 1).subscriptions(2_000)) == {"BLOCK_NUM=&ODD_EVEN=&ST_TYPEin": 100}
    assert forms(workload("C", 1).subscriptions(20_000)) == pytest.approx(
        {"STREETprefix&ODD_EVEN=": 25, "STREET=&ST_TYPE=": 25, "STREET=&ODD_EVENnot": 25, "BLKLOTprefix": 25}, abs=1
    )


def test_m_is_forty_parts_a1_thirty_a2_and_six_of_each_other_shape() -> None:
    found = forms(workload("M", 1).subscriptions(20_000))
    assert sum(share for form, share in found.items() if form.startswith("symbol=&price")) == pytest.approx(40, abs=2)
    others = {form: share for form, share in found.items() if not form.startswith("symbol=&price")}
    assert others == pytest.approx(
        {
            "pricebetween&volumebetween&changebetween": 30,
            "Noneany&changebetween": 6,
            "symbolprefix&exchangenot&price>": 6,
            "symbolsuffix&volume>": 6,
            "haltednull&exchangein&pricebetween": 6,
            "Noneany&symbol=": 6,
        },
        abs=1,
    )


def test_symbols_are_skewed_and_exchanges_even() -> None:
    events = workload("A1", 1).events(50_000)
    symbols = Counter(event["symbol"] for event in events)
    exchanges = Counter(event["exchange"] for event in events)
    assert symbols.most_common(1)[0][1] / len(events) == pytest.approx(0.056, abs=0.005)
    assert {name: round(10 * count / len(events)) for name, count in exchanges.items()} == dict.fromkeys(EXCHANGES, 1)


def test_wider_ranges_match_more() -> None:
    narrow = workload("A2", 1, width=0.5).subscriptions(10)[3].predicates
    wide = workload("A2", 1, width=2.0).subscriptions(10)[3].predicates
    assert [(p[0], p[2]) for p in narrow] == [(p[0], p[2]) for p in wide]
    assert all(n[3] < w[3] for n, w in zip(narrow, wide, strict=True))


def test_selectors_say_what_the_predicates_say() -> None:
    predicates = (
        (None, "any", ("symbol", "=", "O'K"), ("volume", ">", 5)),
        ("exchange", "not", "LSE"),
        ("city", "in", "A", "B"),
        ("name", "prefix", "ab"),
        ("name", "suffix", "yz"),
        ("halted", "null"),
        ("price", "between", 1.5, 2),
    )
    assert selector(predicates) == (
        "(symbol = 'O''K' OR volume > 5) AND exchange <> 'LSE' AND city IN ('A', 'B') AND name LIKE 'ab%' "
        "AND name LIKE '%yz' AND halted IS NULL AND price BETWEEN 1.5 AND 2"
    )
    assert operands(predicates) == ["O'K", 5, "LSE", "A", "B", "ab", "yz", 1.5, 2]
    assert sum(part.operands for part in shape_of(predicates)) == len(operands(predicates))


def test_x_is_a_price_a_brand_both_or_a_price_in_a_year() -> None:
    found = forms(workload("X", 1).subscriptions(20_000))
    assert found == pytest.approx({"price>": 25, "brand=": 25, "brand=&price>": 25, "year=&price<": 25}, abs=1)
    assert xpath((("price", ">", 1.8),)) == "/menu/softdrinks[price>1.8]"
    assert xpath((("year", "=", 2003), ("price", "<", 3.5))) == "//softdrinks[year=2003]/price[.<3.5]"


def test_index_and_a_loop_over_lxml_find_the_same_matches(tmp_path: Path) -> None:
    wanted, published = workload("X", 3).write(tmp_path, subscriptions=2_000, events=100)
    data = published.read_bytes()
    expected = LxmlLoop(wanted).counts(data)
    assert sum(expected) > 0
    assert Index(wanted).counts(data) == expected


@pytest.mark.parametrize("name", SQL_NAMES)
def test_scan_python_loop_and_index_find_the_same_matches(name: str, tmp_path: Path) -> None:
    wanted, published = workload(name, 3).write(tmp_path, subscriptions=2_000, events=300)
    data = published.read_bytes()
    expected = PythonLoop(wanted).counts(data)
    assert sum(expected) > 0
    assert Scan(wanted).counts(data) == expected
    assert Index(wanted).counts(data) == expected


def test_engines_treat_an_attribute_the_event_lacks_alike(tmp_path: Path) -> None:
    wanted, _ = workload("M", 3).write(tmp_path, subscriptions=500, events=1)
    data = b'{}\n{"halted": true, "price": 500.0}\n{"symbol": "ABCD"}\n{"exchange": "LSE", "price": 501}\n'
    expected = PythonLoop(wanted).counts(data)
    assert Scan(wanted).counts(data) == expected
    assert Index(wanted).counts(data) == expected
