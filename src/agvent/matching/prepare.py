"""Compiles the kernels before they are needed. Numba keeps the result beside the source, so only the first time counts.

Whoever starts several processes calls this first: each of them would compile the same for a minute.

    python -m agvent.matching.prepare
"""

from __future__ import annotations

from agvent.matching.subscriptions import Subscriptions


def prepare_kernels() -> None:
    """Compiles what importing, building an index and matching need; takes a second if it is done already."""
    subscriptions = Subscriptions()
    subscriptions.add("any", "symbol = 'S1' AND price BETWEEN 1 AND 2 AND volume > 3")
    subscriptions.compact()
    subscriptions.match_json(b'{"symbol": "S1", "price": 1.5, "volume": 4}\n')


if __name__ == "__main__":
    prepare_kernels()
