"""Channels, topics and topic patterns (ABDES §2.1, §2.2; Narada §7.1.1, §7.1.4).

The whole text is the channel, the topic or the pattern: nothing is trimmed and nothing is quoted.
"""

from __future__ import annotations

import re
from typing import Final

from agvent import limits
from agvent.errors import FilterError, TranslationError
from agvent.filters.bounds import check_text
from agvent.filters.patterns import topic_tokens
from agvent.filters.tree import Attribute, Compare, Condition, In, Literal, TopicPattern

TOPIC: Final = Attribute(("$topic",))
CHANNEL: Final = Attribute(("$channel",))
INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
CANONICAL_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)

INTEGER_CHARS_MAX: Final = 20
"""The longest 64-bit integer has a sign and 19 digits; longer texts are not converted."""


def parse_channel(text: str) -> Condition:
    """A channel of that name; a text written as an integer is also the channel of that number."""
    check_topic(text, "a channel")
    number = _canonical_integer(text)
    if number is None:
        return Compare("=", CHANNEL, Literal(text))
    return In(CHANNEL, (Literal(text), Literal(number)))


def _canonical_integer(text: str) -> int | None:
    if len(text) > INTEGER_CHARS_MAX or not CANONICAL_INTEGER.fullmatch(text):
        return None
    return int(text) if _fits(int(text)) else None


def parse_integer(text: str) -> Condition:
    check_topic(text, "an integer topic")
    if not INTEGER.fullmatch(text):
        raise FilterError("expected an integer topic", text, 0, hint="write 42, or use the language topic")
    if len(text) > INTEGER_CHARS_MAX or not _fits(int(text)):
        raise FilterError(f"{text[:40]} does not fit in 64 bits", text, 0)
    return Compare("=", TOPIC, Literal(int(text)))


def _fits(value: int) -> bool:
    return limits.INT_MIN <= value <= limits.INT_MAX


def parse_topic(text: str) -> Condition:
    check_topic(text, "a topic")
    return Compare("=", TOPIC, Literal(text))


def parse_pattern(text: str) -> Condition:
    check_topic(text, "a topic pattern")
    topic_tokens(text)  # for its error; engines make the tokens again from the tree
    return TopicPattern(TOPIC, text)


def check_topic(text: str, expected: str) -> None:
    """Refuses an empty text, one longer than a topic may be, and lone surrogates."""
    if not text:
        raise FilterError(f"expected {expected}, found the end", text, 0)
    if len(text) > limits.TOPIC_CHARS_MAX:
        message = f"the topic has {len(text)} characters, at most {limits.TOPIC_CHARS_MAX} are allowed"
        raise FilterError(message, text, limits.TOPIC_CHARS_MAX)
    check_text(text)


def format_channel(tree: Condition) -> str:
    match tree:
        case Compare("=", Attribute(("$channel",)), Literal(str() as text)) if text:
            if _canonical_integer(text) is None:
                return text
        case In(Attribute(("$channel",)), (Literal(str() as text), Literal(int() as number))):
            if _canonical_integer(text) == number and number is not True:
                return text
    raise TranslationError(f"a channel cannot express {tree}"[:300])


def format_integer(tree: Condition) -> str:
    match tree:
        case Compare("=", Attribute(("$topic",)), Literal(int() as topic)) if not isinstance(topic, bool):
            return str(topic)
    raise TranslationError(f"an integer topic cannot express {tree}"[:300])


def format_topic(tree: Condition) -> str:
    match tree:
        case Compare("=", Attribute(("$topic",)), Literal(str() as topic)) if topic:
            return topic
    raise TranslationError(f"a topic cannot express {tree}"[:300])


def format_pattern(tree: Condition) -> str:
    match tree:
        case TopicPattern(Attribute(("$topic",)), pattern) if pattern:
            return pattern
    raise TranslationError(f"a topic pattern cannot express {tree}"[:300])
