"""The network between nodes: frames that take time, get lost, doubled, late and damaged, and links that are cut."""

from __future__ import annotations

from random import Random

import msgspec


class Conditions(msgspec.Struct, frozen=True):
    """How one direction of a link treats frames; probabilities are per frame."""

    delay_us: int = 2_000
    jitter_us: int = 500
    loss: float = 0.0
    doubling: float = 0.0
    lateness: float = 0.0  # another delay of up to `late_us`, so that frames overtake each other
    late_us: int = 50_000
    flips: float = 0.0
    bytes_per_s: int = 0  # 0: any number


GOOD = Conditions()


class LinkDirection(msgspec.Struct):
    """One direction of a link, now. Its chance is its own: frames of other links have no influence on it."""

    conditions: Conditions
    random: Random
    usual: Conditions = GOOD
    cut: bool = False
    free_at: int = 0  # when the last frame has left, if bandwidth is bounded


class Network:
    """All directed paths. `arrivals` says when the copies of a frame arrive, and with which bytes."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.paths: dict[tuple[str, str], LinkDirection] = {}
        self.frames = 0
        self.lost = 0

    def connect(self, a: str, b: str, conditions: Conditions = GOOD) -> None:
        for source, target in ((a, b), (b, a)):
            random = Random(f"{self.seed} {source} {target}")
            self.paths[source, target] = LinkDirection(conditions, random, conditions)

    def arrivals(self, a: str, b: str, frame: bytes, now: int) -> list[tuple[int, bytes]]:
        path = self.paths[a, b]
        given, random = path.conditions, path.random
        self.frames += 1
        if path.cut or (given.loss and random.random() < given.loss):
            self.lost += 1
            return []
        start = now
        if given.bytes_per_s:
            start = path.free_at = max(now, path.free_at) + len(frame) * 1_000_000 // given.bytes_per_s
        if given.doubling and random.random() < given.doubling:
            return [_arrival(given, random, frame, start), _arrival(given, random, frame, start)]
        return [_arrival(given, random, frame, start)]


def _arrival(given: Conditions, random: Random, frame: bytes, start: int) -> tuple[int, bytes]:
    at = start + given.delay_us + int(given.jitter_us * random.random())
    if given.lateness and random.random() < given.lateness:
        at += int(given.late_us * random.random())
    if given.flips and random.random() < given.flips:
        damaged = bytearray(frame)
        damaged[random.randrange(len(damaged))] ^= 1 << random.randrange(8)
        frame = bytes(damaged)
    return at, frame
