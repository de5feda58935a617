"""Inputs that are nearly good: a good one, changed a few times.

A language can say what its constructs look like (`parts`, regular expressions) and what encloses them (`brackets`):
then half of the inputs are good ones with constructs exchanged, repeated and left out, many of which are good again.

Everything is drawn from the `Random` that is given, so an input is known by the seed of that. Text and bytes are
changed by the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import AnyStr, Final, Generic

CHANGES_MAX: Final = 6
"""Changes to one input: more leave nothing of what was good."""

SIZE_MAX: Final = 4_096
HUGE_MAX: Final = 80_000
"""Characters or bytes of an input, if no good one is longer. One in HUGE_EVERY may be huge, which is beyond every bound
on a filter."""

HUGE_EVERY: Final = 512

NUMBERS: Final = (
    "0", "-0", "00", "08", "017", "0x1F", "1", "-1", "127", "2147483648", "9007199254740992", "9007199254740993",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "18446744073709551616", "1" + "0" * 40, "0.1", "-0.0", ".5", "7.", "1e3", "1E-400", "1e308", "1.8e308", "1e999",
    "4.9e-324", "2.2250738585072011e-308", "0.500000000000000166533453694", "12L", "NaN", "Infinity", "1_000",
)  # fmt: skip

CHARACTERS: Final = (
    "\0", "\t", "\n", "\r", " ", "\x1f", "\x7f", "\x85", "\xa0", "!", '"', "#", "$", "%", "&", "'", "(", ")", "*", "+",
    ",", "-", ".", "/", "0", "1", "9", ":", ";", "<", "=", ">", "?", "@", "A", "[", "\\", "]", "^", "_", "`", "a", "e",
    "u", "{", "|", "}", "~", "é", "ß", "İ", "ſ", "٣", "日", "\u2028", "\u200b", "\ue000", "\ufeff", "\uffff", "😀",
    "\ud800", "\udfff", "\U0010ffff",
)  # fmt: skip
"""Single characters that parsers tend to be wrong about; the lone surrogates only in text."""

RAW: Final = tuple(bytes([value]) for value in range(256))
TOKEN: Final = r"\w+|\s+|[^\w\s]"
NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
BRACKETS: Final = (("(", ")"), ("[", "]"), ("{", "}"), ("NOT (", ")"), ('{"a":', "}"), ("'", "'"), ('"', '"'))
DEPTHS: Final = (1, 2, 3, 31, 32, 33, 63, 64, 65, 200, 1_500)


class Mutations(Generic[AnyStr]):
    """Draws inputs near the good ones. Their tokens, in any mixture, are what is put in."""

    def __init__(
        self,
        good: Sequence[AnyStr],
        *,
        parts: Sequence[str] = (),
        brackets: Sequence[tuple[str, str]] = BRACKETS,
    ) -> None:
        self.good: Sequence[AnyStr] = good
        self._empty: AnyStr = good[0][:0]
        self._token: re.Pattern[AnyStr] = re.compile(self._kind(TOKEN))
        self._number: re.Pattern[AnyStr] = re.compile(self._kind(NUMBER))
        self._size = max(SIZE_MAX, *map(len, good))
        self._tokens: list[AnyStr] = sorted({token for one in good for token in self._token.findall(one)})
        self._words: list[AnyStr] = [token for token in self._tokens if token[:1].isalnum()]
        self._marks: list[AnyStr] = [token for token in self._tokens if not token[:1].isalnum()]
        self._numbers: list[AnyStr] = [self._kind(number) for number in NUMBERS]
        encodable = [one for one in CHARACTERS if isinstance(self._empty, str) or not "\ud800" <= one <= "\udfff"]
        self._characters: list[AnyStr] = [self._kind(one) for one in encodable]
        if isinstance(self._empty, bytes):
            self._characters += RAW
        self._brackets: list[tuple[AnyStr, AnyStr]] = [
            (self._kind(opening), self._kind(closing)) for opening, closing in brackets
        ]
        patterns = [re.compile(self._kind(part)) for part in parts]
        self._parts: list[tuple[re.Pattern[AnyStr], list[AnyStr]]] = [
            (pattern, sorted({found[0] for one in good for found in pattern.finditer(one)})) for pattern in patterns
        ]
        self._styles: list[Sequence[Change[AnyStr]]] = [CHANGES, GENTLE, *([GRAFTS, GRAFTS] if parts else [])]

    def _kind(self, text: str) -> AnyStr:
        """The text as what is mutated here."""
        return text if isinstance(self._empty, str) else text.encode()

    def draw(self, random: Random) -> AnyStr:
        """One input; half or more are only changed in ways that leave many of them good."""
        size_max = self._size
        changes = random.choice(self._styles)
        given = random.choice(self.good)
        if random.randrange(HUGE_EVERY) == 0:
            size_max = HUGE_MAX
            given = self._filled(random, given)
        for _ in range(min(CHANGES_MAX, 1 + int(random.expovariate(0.7)))):
            given = random.choice(changes)(self, random, given, size_max)
        return given[:size_max]

    def _filled(self, random: Random, given: AnyStr) -> AnyStr:
        """Some of its tokens, or brackets around it, again and again until there is no more room."""
        room = HUGE_MAX - len(given)
        if random.randrange(4) == 0:
            opening, closing = random.choice(self._brackets)
            depth = room // (len(opening) + len(closing))
            return opening * depth + given + closing * depth
        places = [found.start() for found in self._token.finditer(given)] or [0]
        start = random.choice(places)
        end = random.choice([at for at in places if at > start] or [len(given)])
        times = random.randrange(1 + room // (end - start or 1))
        return given[:start] + given[start:end] * (1 + times) + given[end:]

    def flipped(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        at = random.randrange(len(given) + 1)
        return given[:at] + random.choice(self._characters) + given[at + random.randrange(2) :]

    def cut(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        start, end = _span(random, given)
        return given[:start] + given[end:]

    def repeated(self, random: Random, given: AnyStr, size_max: int) -> AnyStr:
        """A part of it several times, seldom as often as there is room for."""
        start, end = _span(random, given)
        times = random.choice((2, 2, 3, 17, 65)) if random.randrange(16) else size_max
        room = max(1, (size_max - len(given)) // (end - start or 1))
        return given[:start] + given[start:end] * min(times, room) + given[end:]

    def spliced(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """The beginning of it and the end of another."""
        other = random.choice(self.good)
        return given[: random.randrange(len(given) + 1)] + other[random.randrange(len(other) + 1) :]

    def inserted(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        at = random.randrange(len(given) + 1)
        return given[:at] + random.choice(self._tokens) + given[at:]

    def exchanged(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """One token for another, a word for a word."""
        start, end = self._place(random, given, self._token)
        others = self._words if given[start:end].isalnum() else self._marks
        return given[:start] + random.choice(others or self._tokens) + given[end:]

    def renamed(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """One character inside a word, which mostly leaves it a word."""
        start, end = self._place(random, given, self._token)
        at = random.randrange(start, max(end, start + 1))
        return given[:at] + random.choice(self._characters) + given[at + 1 :]

    def numbered(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        start, end = self._place(random, given, self._number)
        return given[:start] + random.choice(self._numbers) + given[end:]

    def _place(self, random: Random, given: AnyStr, wanted: re.Pattern[AnyStr]) -> tuple[int, int]:
        """Where some such thing stands: the first after a place drawn, or of all, or any span at all."""
        found = wanted.search(given, random.randrange(len(given) + 1)) or wanted.search(given)
        return found.span() if found else _span(random, given)

    def shuffled(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """Two tokens in each other's place."""
        tokens: list[AnyStr] = self._token.findall(given[:SIZE_MAX])
        if len(tokens) > 1:
            one, other = random.randrange(len(tokens)), random.randrange(len(tokens))
            tokens[one], tokens[other] = tokens[other], tokens[one]
        return self._empty.join(tokens)

    def nested(self, random: Random, given: AnyStr, size_max: int) -> AnyStr:
        """A part of it, or all, in brackets up to some depth."""
        opening, closing = random.choice(self._brackets)
        start, end = (0, len(given)) if random.randrange(2) else _span(random, given)
        depth = min(random.choice(DEPTHS), size_max // (len(opening) + len(closing)))
        return given[:start] + opening * depth + given[start:end] + closing * depth + given[end:]

    def grafted(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """One construct for another of its kind."""
        start, end, others = self._part(random, given)
        return given[:start] + random.choice(others) + given[end:]

    def multiplied(self, random: Random, given: AnyStr, size_max: int) -> AnyStr:
        start, end, _ = self._part(random, given)
        times = min(random.choice((2, 3, 20)), max(1, size_max // (end - start or 1)))
        return given[:start] + given[start:end] * times + given[end:]

    def thinned(self, random: Random, given: AnyStr, _: int) -> AnyStr:
        """Without one construct."""
        start, end, _others = self._part(random, given)
        return given[:start] + given[end:]

    def _part(self, random: Random, given: AnyStr) -> tuple[int, int, list[AnyStr]]:
        """Where a construct stands, and the good ones of its kind; none where there is none of the kind drawn."""
        pattern, others = random.choice(self._parts)
        places: list[tuple[int, int]] = [found.span() for found in pattern.finditer(given[:SIZE_MAX])]
        return (*random.choice(places), others) if places else (0, 0, [self._empty])


def _span(random: Random, given: AnyStr) -> tuple[int, int]:
    start = random.randrange(len(given) + 1)
    return start, min(len(given), start + 1 + int(random.expovariate(0.1)))


Change = Callable[[Mutations[AnyStr], Random, AnyStr, int], AnyStr]
CHANGES: Final[tuple[Change, ...]] = (  # type: ignore[type-arg]
    Mutations.flipped,
    Mutations.flipped,
    Mutations.cut,
    Mutations.repeated,
    Mutations.spliced,
    Mutations.inserted,
    Mutations.exchanged,
    Mutations.exchanged,
    Mutations.numbered,
    Mutations.shuffled,
    Mutations.nested,
)
GENTLE: Final[tuple[Change, ...]] = (  # type: ignore[type-arg]
    Mutations.exchanged,
    Mutations.exchanged,
    Mutations.renamed,
    Mutations.numbered,
)
GRAFTS: Final[tuple[Change, ...]] = (  # type: ignore[type-arg]
    Mutations.grafted,
    Mutations.grafted,
    Mutations.grafted,
    Mutations.multiplied,
    Mutations.thinned,
    Mutations.numbered,
)
