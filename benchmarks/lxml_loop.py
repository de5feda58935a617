"""A loop over compiled XPath expressions of lxml: what one writes first for XML."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from lxml import etree

from engine import main
from index import read


class LxmlLoop:
    """All subscriptions as compiled expressions."""

    def __init__(self, subscriptions: Path) -> None:
        self._filters = [etree.XPath(f"boolean({one.filter})") for one in read(subscriptions)]
        self._decode = msgspec.json.Decoder(dict[str, str]).decode_lines

    def match(self, data: bytes) -> int:
        return sum(self.counts(data))

    def counts(self, data: bytes) -> list[int]:
        filters = self._filters
        return [len([i for i, accepts in enumerate(filters) if accepts(root)]) for root in self.parse(data)]

    def parse(self, data: bytes) -> list[Any]:
        return [etree.fromstring(event["$xml"]) for event in self._decode(data)]

    def index_bytes(self) -> int | None:
        return None


if __name__ == "__main__":
    main("lxml loop", LxmlLoop)
