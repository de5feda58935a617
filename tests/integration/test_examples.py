"""The examples run, and print what their readers are told to expect."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

PRINTED = {
    "bookshop.py": """\
Book: A new book from a publishing house.
  author                                          str            Who wrote it
  name                                            str            Its title
  pages                                           int            Number of printed pages
  dimensions                                      float[3]       Height, width and depth in mm
  publisher                                       str            The house
  published                                       timestamp      Day of publication
  isbn                                            int            Number of the edition
  list_price                                      float          Dollars
  margin()                                        float, opaque  Share of the price that stays with the house
  references_contain(author: str)                 bool           Does the book cite this author?
      author                                                     Surname, initials
  contents_contain(topic: str)                    bool           Is there a chapter about this?
  wholesale_price(amount: int, destination: str)  float          Dollars for an order, delivered.
      destination                                                A city

istanbul gets Intelligent Agent Software Engineering
markets gets Agents and Events
investor gets Machine Learning

the shop is told {'offer': 200, 'dollars': 15200.0}
the house is told {'offered_to': 'istanbul', 'copies': 200}
5,000 copies to Ankara: 224,500 dollars

what came names the references: False
istanbul reads {'contract': '12 % to the author'}
markets was not admitted, and reads nothing
""",
    "live_alerts.py": """\
nyse:2 at 99.5
nyse:3 at 98.0
""",
    "stock_alerts.py": """\
IBM ['ada: IBM is cheap']
MSFT ['ben: any large trade', 'cy: tech moves']
FXA ['dee: funds, not bonds']
FXB []
after the change:
IBM []
MSFT ['cy: tech moves']
FXA ['dee: funds, not bonds']
FXB []
""",
    "warehouse.py": """\
bergen received Order and Catalogue
oslo received Order and Catalogue
rome received Catalogue

The order's life:
  created, and published at shop
  admitted at shop
  executed at shop
  0 migrated from shop to bergen, for bergen, oslo, rome
  0 admitted at bergen
  0 executed at bergen
  0 delivered at bergen to bergen warehouse
  0.0 migrated from bergen to oslo, for oslo, rome
  0.0 admitted at oslo
  0.0 executed at oslo
  0.0 delivered at oslo to oslo warehouse
  0.0 disposed at oslo, declined rome
""",
    "topics_and_tags.py": """\
['all sports', 'scores']
['all sports', 'high scores']
['channel 42']
['red Fords', 'vehicles']
[]
""",
    "why.py": """\
does not match because price > 100 OR volume > 1000 is unknown: price is 99.5, volume is missing
  ? AND is unknown
    ✓ symbol = 'IBM'   (symbol is 'IBM')
    ? OR is unknown
      ✗ price > 100   (price is 99.5)
      ? volume > 1000   (volume is missing)
price < 100 covers price < 50: True
price < 50 covers price < 100: False
price < 100 overlaps price > 200: False
line 1, column 17: expected a value, found 'AND'
  price > 100 AND AND symbol = 'IBM'
                  ^
hint: AND is a reserved word; write "AND" if it is a name
""",
}


def run(script: str, *words: str) -> str:
    done = subprocess.run([sys.executable, EXAMPLES / script, *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize("script", PRINTED)
def test_an_example_prints_what_it_should(script: str) -> None:
    """A script of examples/ runs as it stands."""
    assert run(script) == PRINTED[script]


def test_every_example_is_tested() -> None:
    """No script of examples/ is left out here."""
    assert {path.name for path in EXAMPLES.glob("*.py")} == {
        *PRINTED,
        "day.py",
        "demo_picture.py",
        "journey_picture.py",
        "many_subscriptions.py",
    }


def test_the_demonstration_is_drawn(tmp_path: Path) -> None:
    """`demo_picture.py` draws each leg of each way as an arrow, over fourteen links and twelve brokers."""
    legs = [{"start": "AS1", "end": "AS2"}, {"start": "AS2", "end": "AS8"}]
    ways = {
        when: {"event": "house:1", "home": "AS8", "legs": legs[:count], "delivered_ms": 2.5}
        for count, when in enumerate(("before the cut", "after the cut"), 1)
    }
    (tmp_path / "demo.json").write_text(json.dumps({"ways": ways}))
    drawn = ElementTree.fromstring(run("demo_picture.py", str(tmp_path / "demo.json")))
    kinds = Counter(element.get("class", element.tag.partition("}")[2]) for element in drawn.iter())
    whole = {"link": 13, "cut": 1, "broker": 11, "killed": 1, "way": 3 + 2, "marker": 2}
    assert {kind: kinds[kind] for kind in whole} == whole


def test_the_journey_is_drawn() -> None:
    """docs/img/journey.svg is what `journey_picture.py` draws."""
    assert run("journey_picture.py") == (EXAMPLES.parent / "docs" / "img" / "journey.svg").read_text()


def test_three_matches_are_explained() -> None:
    """`many_subscriptions.py` on a smaller workload: a table of figures, and three matches with their reasons."""
    printed = run("many_subscriptions.py", "--subscriptions", "2000", "--events", "3000")
    assert "events per second" in printed
    assert printed.count("Why event ") == 3
    assert printed.count("\nmatches\n") == 3


@pytest.mark.xdist_group("spark processes")
def test_the_day_is_matched_audited_and_reported(tmp_path: Path) -> None:
    """`day.py` on a smaller day: each command, a verdict and the path of a page."""
    printed = run("day.py", "--events", "2000", "--subscriptions", "50", "--folder", str(tmp_path / "out"))
    commands = [line.split()[2] for line in printed.splitlines() if line.startswith("$ agvent")]
    assert commands == ["log", "spark", "spark", "spark"]
    assert "the promise was kept for" in printed
    assert f"report: {tmp_path / 'out' / 'report' / 'report.html'}" in printed
    assert (tmp_path / "out" / "report" / "report.html").stat().st_size > 10_000
