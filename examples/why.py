"""Why did it match, why did it not, and which of two filters is wider.

python examples/why.py
"""

from __future__ import annotations

from agvent import FilterError, covers, explain, overlaps, parse


def main() -> None:
    tick = {"symbol": "IBM", "price": 99.5}
    print(explain(parse("symbol = 'IBM' AND (price > 100 OR volume > 1000)"), tick))

    cheap, cheaper, dear = parse("price < 100"), parse("price < 50"), parse("price > 200")
    print("price < 100 covers price < 50:", covers(cheap, cheaper))
    print("price < 50 covers price < 100:", covers(cheaper, cheap))
    print("price < 100 overlaps price > 200:", overlaps(cheap, dear))

    try:
        parse("price > 100 AND AND symbol = 'IBM'")
    except FilterError as error:
        print(error)


if __name__ == "__main__":
    main()
