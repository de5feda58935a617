"""The front door: text to tree and tree to text, in every filter language.

`format_filter(parse(text))` parses to the same tree in the same language.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final

import msgspec

from agvent.errors import CallerError
from agvent.filters.elvin import parse_elvin
from agvent.filters.elvin_format import format_elvin
from agvent.filters.sql import parse_sql
from agvent.filters.sql_format import format_sql
from agvent.filters.sql_tokens import nearest
from agvent.filters.tags import format_tags, parse_tags
from agvent.filters.topics import (
    format_channel,
    format_integer,
    format_pattern,
    format_topic,
    parse_channel,
    parse_integer,
    parse_pattern,
    parse_topic,
)
from agvent.filters.tree import Condition
from agvent.filters.xpath import format_xpath, parse_xpath


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """One language: its two directions, and a line for `--help`. `names` tells whether its filters name attributes."""

    parse: Callable[..., Condition]
    format: Callable[[Condition], str]
    names: bool
    doc: str


LANGUAGES: Final[Mapping[str, Language]] = {
    "sql": Language(
        parse=parse_sql,
        format=format_sql,
        names=True,
        doc="SQL-92 selector as JMS has it: price > 10 AND city = 'Oslo'",
    ),
    "tags": Language(parse=parse_tags, format=format_tags, names=True, doc="tag=value: Make=Ford,Model=*,Color=Red"),
    "elvin": Language(
        parse=parse_elvin,
        format=format_elvin,
        names=True,
        doc='Elvin: require(chat) && begins-with(user, "al")',
    ),
    "topic": Language(parse=parse_topic, format=format_topic, names=False, doc="one topic: Sports/NBA"),
    "pattern": Language(
        parse=parse_pattern, format=format_pattern, names=False, doc="topics, + one level, # the rest: Sports/#"
    ),
    "integer": Language(parse=parse_integer, format=format_integer, names=False, doc="one integer topic: 42"),
    "channel": Language(parse=parse_channel, format=format_channel, names=False, doc="one channel: 42 or news"),
    "xpath": Language(
        parse=parse_xpath, format=format_xpath, names=False, doc="XPath 1.0 on $xml: /menu/softdrinks[price > 1.80]"
    ),
}


def parse(text: str, language: str = "sql", *, known: Collection[str] | None = None) -> Condition:
    """The tree of a filter. `known` are the attributes and behaviours there are: naming another is an error.

    >>> parse("price > 10")
    Compare(op='>', left=Attribute(path=('price',)), right=Literal(value=10), unlike=False)
    """
    chosen = language_of(language)
    if not isinstance(text, str):
        raise CallerError(f"a filter is a text, not {type(text).__name__}")
    return chosen.parse(text, known) if chosen.names else chosen.parse(text)


def format_filter(tree: Condition, language: str = "sql") -> str:
    """The text of a tree; a TranslationError names the part the language cannot express.

    >>> format_filter(parse("Make=Ford,Model=*", "tags"))
    "Make = 'Ford' AND Model IS NOT NULL"
    """
    return language_of(language).format(tree)


def language_of(name: str) -> Language:
    """The language of this name, or a CallerError with those there are."""
    if not isinstance(name, str) or name not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        hint = nearest(name, LANGUAGES) if isinstance(name, str) else None
        raise CallerError(f"no filter language {name!r}, there are {known}", hint=hint)
    return LANGUAGES[name]
