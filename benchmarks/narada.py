"""The matching figures of seed 003 (Narada §7.2, figs. 5-9) again: matching time against the number of subscriptions.

    python benchmarks/narada.py [--json] [--page]

In each engine ten subscriptions or so match an event, whatever their number, so that what grows is the search and not
its result. `--page` writes docs/reproduction.md and, where matplotlib is installed (`pip install matplotlib`; nothing
else needs it), docs/img/narada.svg and .png.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from agvent.event import Event, event_of
from agvent.filters.subscription import Subscription
from agvent.matching.subscriptions import Subscriptions
from engine import one_core
from page import made_by, replace_block, short, table

STEP: Final = 10_000
SIZES: Final = tuple(range(STEP, 100_001, STEP))
SHARING: Final = 10
"""Subscriptions of one topic or one set of tags."""

WARM: Final = 200
SINGLE: Final = 2_000
BATCH: Final = 8_192
REPETITIONS: Final = 9
DESTINATIONS: Final = 32
TAG_VALUES: Final = 1_000
LETTERS: Final = np.array(list("abcdefghijklmnopqrstuvwxyz"))
PAGE: Final = Path(__file__).parent.parent / "docs" / "reproduction.md"
IMAGES: Final = PAGE.parent / "img"

Draw = np.random.Generator
Source = dict[str, Any]


class Engine(NamedTuple):
    """One of the seed's matching engines. Block b holds subscriptions b * STEP and on; events fall into blocks too."""

    figure: int
    language: str
    filters: Callable[[Draw, int], list[str]]
    events: Callable[[Draw, int, int], list[Source]]


def draw_of(seed: int, *place: object) -> Draw:
    """A stream of its own for each engine and block: more blocks leave the first as they are."""
    return np.random.default_rng([seed, *map(ord, "/".join(map(str, place)))])


def profiles(draw: Draw, block: int) -> list[int]:
    """The profile of each subscription of a block: SHARING of each, in any order."""
    first = block * STEP
    return ((first + draw.permutation(STEP)) // SHARING).tolist()  # type: ignore[no-any-return]


def asked(draw: Draw, blocks: int, count: int) -> list[int]:
    """Profiles that events ask for, from all blocks there are."""
    return draw.integers(0, blocks * STEP // SHARING, count).tolist()  # type: ignore[no-any-return]


@cache
def topic(characters: int, profile: int) -> str:
    """A topic of that many letters; equal profiles have equal topics."""
    return "".join(draw_of(characters, profile).choice(LETTERS, characters))


@cache
def tags(pairs: int, profile: int) -> dict[str, str]:
    """As many tags with values of their own."""
    values = draw_of(pairs, profile).integers(0, TAG_VALUES, pairs).tolist()
    return {f"tag{number}": f"value{value}" for number, value in enumerate(values)}


class Drink(NamedTuple):
    """What fig. 10 shows of a soft drink, as far as it is asked for. The other subscriptions of a brand ask for other
    prices: half of them match an event."""

    brand: int
    price: float


def drinks(draw: Draw, block: int) -> list[Drink]:
    brands = profiles(draw, block)
    prices = draw.integers(0, 500, STEP) / 100
    return [Drink(brand // 2, price) for brand, price in zip(brands, prices.tolist(), strict=True)]


def sold(draw: Draw, blocks: int, count: int) -> list[Drink]:
    prices = draw.integers(0, 500, count) / 100
    return [Drink(brand // 2, price) for brand, price in zip(asked(draw, blocks, count), prices.tolist(), strict=True)]


def attributes(drink: Drink) -> Source:
    return {
        "brand": f"Brand {drink.brand}",
        "fruit": "Apple",
        "source": "Brazil",
        "company": "Coca Cola",
        "price": drink.price,
        "year": 2003,
    }


def document(drink: Drink) -> Source:
    """The XML event of fig. 10."""
    members = "".join(f"<{name}>{value}</{name}>" for name, value in attributes(drink).items())
    return {"$xml": f"<menu><softdrinks>{members}</softdrinks></menu>"}


def selector(drink: Drink) -> str:
    return f"brand = 'Brand {drink.brand}' AND price > {drink.price}"


def xpath(drink: Drink) -> str:
    """The query of fig. 10, with a brand, so that about ten match."""
    return f"/menu/softdrinks[brand='Brand {drink.brand}'][price>{drink.price}]"


def by_profile(
    language: str, figure: int, filter_of: Callable[[int], str], source_of: Callable[[int], Source]
) -> Engine:
    """An engine whose subscriptions and events are made from the number of a profile."""
    return Engine(
        figure,
        language,
        lambda draw, block: [filter_of(profile) for profile in profiles(draw, block)],
        lambda draw, blocks, count: [source_of(profile) for profile in asked(draw, blocks, count)],
    )


def by_drink(language: str, filter_of: Callable[[Drink], str], source_of: Callable[[Drink], Source]) -> Engine:
    """An engine of fig. 8."""
    return Engine(
        8,
        language,
        lambda draw, block: [filter_of(drink) for drink in drinks(draw, block)],
        lambda draw, blocks, count: [source_of(drink) for drink in sold(draw, blocks, count)],
    )


def of_topic(characters: int) -> Engine:
    name = partial(topic, characters)
    return by_profile("topic", 6, name, lambda profile: {"$topic": name(profile)})


def of_tags(pairs: int) -> Engine:
    made = partial(tags, pairs)
    return by_profile(
        "tags", 7, lambda profile: ",".join(f"{tag}={value}" for tag, value in made(profile).items()), made
    )


ENGINES: Final[Mapping[str, Engine]] = {
    "integer": by_profile("integer", 5, str, lambda profile: {"$topic": profile}),
    "string of 16": of_topic(16),
    "string of 32": of_topic(32),
    "5 tags": of_tags(5),
    "15 tags": of_tags(15),
    "25 tags": of_tags(25),
    "SQL": by_drink("sql", selector, attributes),
    "XPath": by_drink("xpath", xpath, document),
}


def subscriptions(name: str, seed: int, block: int) -> Iterable[Subscription]:
    engine = ENGINES[name]
    texts = engine.filters(draw_of(seed, name, "subscriptions", block), block)
    for number, text in enumerate(texts, block * STEP):
        yield Subscription(id=f"s{number}", language=engine.language, filter=text)


def events(name: str, seed: int, blocks: int, count: int) -> list[Source]:
    return ENGINES[name].events(draw_of(seed, name, "events", blocks), blocks, count)


def median_us(work: Callable[[Event], object], given: Sequence[Event], warm: int = WARM) -> float:
    """The median of one call for each event; the first are not counted. CPU time, as in `batch_us`."""
    took = []
    for event in given:
        start = time.thread_time_ns()
        work(event)
        took.append(time.thread_time_ns() - start)
    return statistics.median(took[warm:]) / 1e3


def batch_us(index: Subscriptions, lines: bytes, count: int) -> float:
    """µs of CPU time per event of `match_json`, the median of some repetitions; a batch is long enough to be
    interrupted, and that is not counted."""
    index.match_json(lines)
    took = []
    for _ in range(REPETITIONS):
        start = time.thread_time()
        index.match_json(lines)
        took.append(time.thread_time() - start)
    return 1e6 * statistics.median(took) / count


def measure(name: str, seed: int, sizes: Sequence[int]) -> Iterable[dict[str, Any]]:
    """An engine at each size; the index grows from one to the next."""
    index = Subscriptions()
    for size in range(STEP, max(sizes) + 1, STEP):
        blocks = size // STEP
        index.add_many(subscriptions(name, seed, blocks - 1))
        index.compact()
        if size in sizes:
            sources = events(name, seed, blocks, BATCH)
            lines = "".join(json.dumps(source) + "\n" for source in sources).encode()
            given = [event_of(source) for source in sources[: WARM + SINGLE]]
            matched = sum(len(found) for found in map(index.match, given)) / len(given)
            yield {
                "engine": name,
                "figure": ENGINES[name].figure,
                "subscriptions": size,
                "matches_per_event": round(matched, 1),
                "us_single": round(median_us(index.match, given), 2),
                "us_batch": round(batch_us(index, lines, len(sources)), 3),
            }


MIDDLE: Final = Drink(0, 2.5)
"""The event for destinations: prices reach to 5."""


class Spread(NamedTuple):
    """Profiles over the destinations in turn: fig. 10's query, a price and nothing else, so that half of all profiles
    match. The index answers it as SQL and as XPath; in the other form each profile costs an evaluation, as every one of
    the paper did."""

    language: str
    form: str
    event: Source
    warm: int
    events: int


SPREADS: Final[Mapping[str, Spread]] = {
    "SQL": Spread("sql", "price > {}", attributes(MIDDLE), warm=WARM, events=200),
    "SQL evaluated": Spread("sql", "price * 1 > {}", attributes(MIDDLE), warm=1, events=3),
    "XPath": Spread("xpath", "/menu/softdrinks[price>{}]", document(MIDDLE), warm=WARM, events=200),
    "XPath evaluated": Spread("xpath", "/menu/softdrinks[price+0>{}]", document(MIDDLE), warm=1, events=3),
}


SPREAD_NAMES: Final = tuple(f"{name}, {DESTINATIONS} destinations" for name in SPREADS)


def thresholds(name: str, seed: int, block: int) -> list[str]:
    prices = draw_of(seed, "destinations", block).integers(0, 5_000_000, STEP) / 1_000_000
    return [SPREADS[name].form.format(price) for price in prices.tolist()]


def measure_spread(name: str, seed: int, sizes: Sequence[int]) -> Iterable[dict[str, Any]]:
    """Every matching subscription, against every destination of one."""
    index, spread = Subscriptions(), SPREADS[name]
    for size in range(STEP, max(sizes) + 1, STEP):
        block = size // STEP - 1
        texts = thresholds(name, seed, block)
        for destination in range(DESTINATIONS):
            places = range(destination, STEP, DESTINATIONS)
            ids = ((f"s{block * STEP + place}", texts[place]) for place in places)
            made = [Subscription(id=id, language=spread.language, filter=text) for id, text in ids]
            index.add_many(made, destination=destination)
        index.compact()
        if size in sizes:
            given = [event_of(spread.event)] * (spread.warm + spread.events)
            matched = len(index.match_batch(given[spread.warm :]).subscriptions) / spread.events
            yield {
                "engine": f"{name}, {DESTINATIONS} destinations",
                "figure": 9,
                "subscriptions": size,
                "matches_per_event": round(matched, 1),
                "us_all": round(median_us(partial(all_matches, index), given, spread.warm), 2),
                "us_skipping": round(median_us(partial(all_destinations, index), given, spread.warm), 2),
            }


def all_matches(index: Subscriptions, event: Event) -> object:
    return index.match_batch([event])


def all_destinations(index: Subscriptions, event: Event) -> object:
    return index.destinations([event])


def plot(rows: Sequence[dict[str, Any]]) -> None:
    """A panel for each figure of the seed; a line for one event at a time, a dotted one for batches."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "narada", "svg.fonttype": "none", "font.size": 10})
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, panels = pyplot.subplots(1, 5, figsize=(17, 3.6), layout="constrained")
    titles = ("Fig. 5: integer", "Fig. 6: string", "Fig. 7: tag=value", "Fig. 8: SQL, XPath", "Fig. 9: destinations")
    for panel, number, title in zip(panels, range(5, 10), titles, strict=True):
        found = [row for row in rows if row["figure"] == number]
        columns = (("us_all", "every match", "-"), ("us_skipping", "skipping", ":"))
        if number < 9:
            columns = (("us_single", "", "-"), ("us_batch", " in batches", ":"))
        for color, name in enumerate(dict.fromkeys(row["engine"] for row in found)):
            points = [row for row in found if row["engine"] == name]
            for key, words, style in columns:
                label = f"{name}, {words}" if number == 9 else f"{name}{words}"
                sizes = [row["subscriptions"] / 1000 for row in points]
                panel.plot(sizes, [row[key] for row in points], style, marker=".", color=f"C{color}", label=label)
        panel.set(title=title, xlabel="thousand subscriptions")
        panel.set(**({"yscale": "log"} if number == 9 else {"ylim": (0, 1.5 * panel.get_ylim()[1])}))
        panel.grid(alpha=0.3)
        panel.legend(frameon=False, fontsize=8, loc="center right" if number == 9 else "upper left")
    panels[0].set_ylabel("µs per event")
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / "narada.svg", metadata={"Date": None})
    figure.savefig(IMAGES / "narada.png", dpi=110)


def comparison(rows: Sequence[dict[str, Any]]) -> str:
    """What the paper says beside what was measured at the largest size."""
    last = {row["engine"]: row for row in rows if row["subscriptions"] == SIZES[-1]}
    longer = [last["string of 32"][key] - last["string of 16"][key] for key in ("us_single", "us_batch")]
    tagged = [name for name in ENGINES if ENGINES[name].language == "tags"]
    xpath_cost = f"{last['XPath']['us_single']:.1f} µs for all profiles together"
    facts = [
        ["cost rises: integer, string, tag=value, SQL, XPath", f"one at a time: {ordered(last, 'us_single', ENGINES)}"],
        ["", f"in batches: {ordered(last, 'us_batch', ENGINES)}"],
        ["16 to 32 characters: about 1 µs more", f"{longer[0]:+.2f} µs, in batches {longer[1]:+.2f} µs"],
        ["5 to 25 pairs: no difference", f"one at a time: {ordered(last, 'us_single', tagged)}"],
        ["", f"in batches: {ordered(last, 'us_batch', tagged)}"],
        ["one XPath profile: about 3 ms", xpath_cost],
        ["32 destinations: far less, 120–170 ms for XPath", *(skipped(last[one]) for one in SPREAD_NAMES[-1:])],
        *(["", skipped(last[one])] for one in SPREAD_NAMES[:-1]),
    ]
    return table(["the paper (1 GHz, Java 1.4)", f"here, {SIZES[-1]:,} subscriptions"], facts).replace("---:", "---")


def ordered(last: Mapping[str, dict[str, Any]], key: str, names: Iterable[str]) -> str:
    """The engines by cost, cheapest first."""
    cheapest_first = sorted(names, key=lambda name: last[name][key])
    return ", ".join(f"{name} {short(last[name][key])}" for name in cheapest_first) + " µs"


def skipped(row: dict[str, Any]) -> str:
    matches = f"{row['matches_per_event']:,.0f} matches"
    return f"{row['engine']}: {short(row['us_all'])} µs for {matches}, {short(row['us_skipping'])} µs with skipping"


def write_page(rows: Sequence[dict[str, Any]]) -> None:
    lines = []
    for size in SIZES:
        at = {row["engine"]: row for row in rows if row["subscriptions"] == size}
        lines.append([f"{size:,}", *(pair(at[name], "us_single", "us_batch") for name in ENGINES)])
        lines[-1] += [pair(at[name], "us_all", "us_skipping") for name in SPREAD_NAMES]
    headings = ["subscriptions", *ENGINES, *SPREAD_NAMES]
    picture = "![Matching time against subscriptions](img/narada.svg)\n\n"
    replace_block(
        "narada",
        f"{comparison(rows)}\n\nµs per event: one at a time / in batches; destinations: every match / skipping.\n\n"
        f"{table(headings, lines)}\n\n{picture if (IMAGES / 'narada.svg').exists() else ''}"
        f"{made_by('python benchmarks/narada.py --page')}",
        page=PAGE,
    )


def pair(row: dict[str, Any], *keys: str) -> str:
    return " / ".join(short(row[key]) for key in keys)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seed", type=int, default=42)
    ask.add_argument("--json", action="store_true", help="print one JSON object per point")
    ask.add_argument("--page", action="store_true", help="also write docs/reproduction.md and the plots")
    given = ask.parse_args()
    one_core()
    rows = []
    series: list[Callable[[int, Sequence[int]], Iterable[dict[str, Any]]]]
    series = [*(partial(measure, name) for name in ENGINES), *(partial(measure_spread, name) for name in SPREADS)]
    for one in series:
        for row in one(given.seed, SIZES):
            rows.append(row)
            shown = json.dumps(row) if given.json else ", ".join(f"{key} {value}" for key, value in row.items())
            print(shown, flush=True)
    if given.page:
        if importlib.util.find_spec("matplotlib"):
            plot(rows)
        else:
            print("no plots: matplotlib is not installed. pip install matplotlib adds them.", file=sys.stderr)
        write_page(rows)


if __name__ == "__main__":
    main()
