"""Alerts on stock ticks: many users, each with a condition, and a stream of prices.

python examples/stock_alerts.py
"""

from __future__ import annotations

from agvent import Subscriptions

ALERTS = {
    "ada: IBM is cheap": "symbol = 'IBM' AND price < 100",
    "ben: any large trade": "volume >= 1000000",
    "cy: tech moves": "symbol IN ('IBM', 'MSFT', 'AAPL') AND (change < -5 OR change > 5)",
    "dee: funds, not bonds": "symbol LIKE 'F%' AND kind <> 'bond'",
}

TICKS = [
    {"symbol": "IBM", "price": 99.5, "volume": 300, "change": -1.2},
    {"symbol": "MSFT", "price": 410.0, "volume": 2_000_000, "change": 6.1},
    {"symbol": "FXA", "price": 12.0, "volume": 10, "change": 0.0, "kind": "fund"},
    {"symbol": "FXB", "price": 14.0, "volume": 10, "change": 0.0},
]


def main() -> None:
    alerts = Subscriptions()
    for name, condition in ALERTS.items():
        alerts.add(name, condition)
    for tick in TICKS:
        print(tick["symbol"], alerts.match(tick))

    alerts.replace("ada: IBM is cheap", "symbol = 'IBM' AND price < 90")
    alerts.remove("ben: any large trade")
    print("after the change:")
    for tick in TICKS:
        print(tick["symbol"], alerts.match(tick))


if __name__ == "__main__":
    main()
