"""Random filters and events for the property tests.

Everything is drawn from small pools, so that filters meet the values they ask for: few names, strings that share
prefixes, integers around 2**53, and every kind of value under every name, so that unlike kinds meet too.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any

from hypothesis import strategies as st

from agvent.event import Event, Int32, Path, Value, event_of
from agvent.filters.tree import (
    And,
    Arithmetic,
    Attribute,
    Call,
    Compare,
    Condition,
    Expression,
    Function,
    In,
    IsA,
    IsNull,
    Like,
    Literal,
    Negative,
    Not,
    OfType,
    Or,
    TextTest,
    TopicPattern,
    Truth,
    Xor,
    XPath,
)

NAMES = ("a", "b", "c", "o", "list", "two words")
PATHS: tuple[Path, ...] = (
    ("a",), ("b",), ("c",), ("o",), ("o", "x"), ("o", "y"), ("list",), ("list", 0), ("list", 1), ("two words",),
)  # fmt: skip
HEADER_PATHS: tuple[Path, ...] = (("$topic",), ("$channel",), ("$type",), ("$time",))

STRINGS = (
    "",
    "a",
    "ab",
    "abc",
    "abd",
    "b",
    "A",
    "ABC",
    "é",
    "éa",
    "日本",
    "日",
    "😀",
    "a%b",
    "a_b",
    "it's",
    "1",
    "true",
    "a/b",
)
INTEGERS = (0, 1, -1, 2, 3, 10, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 0.5, 1.0, 2.5, -1.5, float(2**53), 9.3e18, 1e300, -1e300)
TIMES = (
    datetime(2002, 1, 1, tzinfo=UTC),
    datetime(2002, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    datetime(2002, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    datetime(1969, 12, 31, 23, 59, tzinfo=UTC),
)
INT32S = (0, 1, -1, 2, 3, 10, 2**31 - 1, -(2**31))
BYTES = (b"", b"a", b"\x00\xff")
TOPICS = ("a", "a/b", "a/b/c", "a//c", "", "/", "a/", "b", "é/b")
PATTERNS = ("#", "+", "a/#", "a/+", "+/b", "a/+/c", "+/+", "+/#", "/#", "a", "a/b", "é/+")
LIKES = ("%", "", "a%", "%b", "a_c", "%b%", "_", "a!%%", "é%", "日_", "a%b", "ab%c%", "%_", "_%")
TYPES = ("Book", "Paper", "Item")
WILDCARDS = ("*", "", "a*", "*b", "a?c", "?", "a\\*b", "é*", "日?", "a\\", "ab*c*", "a\\?b")
REGEXES = ("a", "^a", "b$", "^a.c$", "[0-9]+", "日|é", "")
XPATHS = ("/a", "//b", "/a[b > 1]", "//b[. = 'x']", "/a[@c = '1' or b]", "count(//*) > 2", "not(/a/b)")
DOCUMENTS = ("<a/>", "<a><b>2</b></a>", "<a c='1'><b>x</b><b>0</b></a>", "<b>x</b>", "<c><a/></c>")
BEHAVIOURS = ("same", "is_text")


def behaviours(name: str, args: tuple[Value, ...]) -> Value:
    """The behaviours random filters call: pure, one that gives any value and one that gives a boolean."""
    if name == "same":
        return args[0]
    return isinstance(args[0], str)


# Events


@cache
def scalars() -> st.SearchStrategy[Any]:
    """A value that is not null, list or object; NaN counts as null."""
    return st.sampled_from((*STRINGS, *INTEGERS, *FLOATS, math.inf, -math.inf, True, False, *TIMES, *BYTES))


@cache
def values() -> st.SearchStrategy[Any]:
    """Any value an attribute can have."""
    nulls = st.sampled_from((None, math.nan))
    lists = st.lists(st.one_of(scalars(), nulls), max_size=3)
    objects = st.dictionaries(st.sampled_from(("x", "y")), st.one_of(scalars(), nulls, lists), max_size=2)
    return st.one_of(scalars(), scalars(), scalars(), nulls, lists, objects)


@cache
def sources() -> st.SearchStrategy[dict[str, Any]]:
    """An event as a mapping with reserved keys, as `event_of` takes it."""
    headers: dict[str, st.SearchStrategy[Any]] = {
        "$topic": st.sampled_from((*TOPICS, 1, 42)),
        "$channel": st.sampled_from(("news", "42", 42, 7)),
        "$type": st.lists(st.sampled_from(TYPES), min_size=1, max_size=3, unique=True),
        "$time": st.sampled_from(TIMES),
        "$xml": st.sampled_from(DOCUMENTS),
    }
    return st.fixed_dictionaries({}, optional={**dict.fromkeys(NAMES, values()), **headers})


@cache
def events() -> st.SearchStrategy[Event]:
    """Events, some of whose integers are Elvin's of 32 bits: those come from no text, so `sources` has none."""
    return st.builds(_narrowed, sources(), st.booleans())


def _narrowed(source: dict[str, Any], narrow: bool) -> Event:
    def narrowed(value: Any) -> Any:
        return Int32(value) if type(value) is int and -(2**31) <= value < 2**31 else value

    return event_of({name: narrowed(value) for name, value in source.items()} if narrow else source)


# Filters


@cache
def literals() -> st.SearchStrategy[Literal]:
    """Literals that SQL can write."""
    return st.sampled_from((*STRINGS, *INTEGERS, *FLOATS, True, False, *TIMES)).map(Literal)


@cache
def attributes() -> st.SearchStrategy[Attribute]:
    return st.sampled_from((*PATHS, *PATHS, *HEADER_PATHS)).map(Attribute)


@cache
def numbers() -> st.SearchStrategy[Expression]:
    """Arithmetic and what may stand in it."""
    leaves: st.SearchStrategy[Expression] = st.one_of(
        attributes(), st.sampled_from((*INTEGERS, *FLOATS)).map(Literal), _sizes()
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Arithmetic, st.sampled_from("+-*/"), inner, inner), st.builds(Negative, inner)
        ),
        max_leaves=3,
    )


@cache
def _sizes() -> st.SearchStrategy[Function]:
    return attributes().map(lambda attribute: Function("size", (attribute,)))


@cache
def _lowers() -> st.SearchStrategy[Function]:
    return attributes().map(lambda attribute: Function("lower", (attribute,)))


@cache
def _calls(name: str) -> st.SearchStrategy[Call]:
    return st.one_of(attributes(), literals()).map(lambda argument: Call(name, (argument,)))


@cache
def expressions() -> st.SearchStrategy[Expression]:
    return st.one_of(attributes(), attributes(), literals(), numbers(), _lowers(), _sizes(), _calls("same"))


@cache
def _terms() -> st.SearchStrategy[Expression]:
    """What most filters test: an attribute, seldom a function of one."""
    return st.one_of(attributes(), attributes(), attributes(), _lowers(), _sizes())


def _is_ordered(node: Expression) -> bool:
    return not (isinstance(node, Literal) and isinstance(node.value, (str, bool)))


@cache
def comparisons() -> st.SearchStrategy[Condition]:
    equal = st.builds(Compare, st.sampled_from(("=", "<>")), _terms(), literals())
    ordered_literals = literals().filter(_is_ordered)
    ordered = st.builds(Compare, st.sampled_from(("<", "<=", ">", ">=")), _terms(), ordered_literals)
    values_ordered = expressions().filter(_is_ordered)
    any_two = st.builds(Compare, st.sampled_from(("=", "<>", "<", ">=")), values_ordered, values_ordered)
    return st.one_of(equal, ordered, ordered, any_two)


@cache
def _betweens() -> st.SearchStrategy[Condition]:
    bounds = st.one_of(literals().filter(_is_ordered), numbers())
    return st.builds(
        lambda term, low, high: And((Compare(">=", term, low), Compare("<=", term, high))), _terms(), bounds, bounds
    )


@cache
def _functions() -> st.SearchStrategy[Function]:
    arguments = st.tuples(_terms(), st.one_of(literals(), attributes()))
    plain = st.builds(Function, st.sampled_from(("contains", "starts_with", "ends_with")), arguments)
    regex = st.builds(Function, st.just("regex"), st.tuples(_terms(), st.sampled_from(REGEXES).map(Literal)))
    return st.one_of(plain, plain, regex)


@cache
def sql_tests() -> st.SearchStrategy[Condition]:
    """Conditions without AND, OR and NOT that the SQL parser could have made."""
    truths: st.SearchStrategy[Any] = st.one_of(
        attributes(), _functions(), _functions(), _calls("is_text"), st.booleans().map(Literal)
    )
    return st.one_of(
        comparisons(),
        comparisons(),
        _betweens(),
        st.builds(In, _terms(), st.lists(literals(), min_size=1, max_size=4).map(tuple)),
        st.builds(Like, _terms(), st.sampled_from(LIKES), st.sampled_from((None, "!"))),
        st.builds(IsNull, expressions()),
        st.builds(Truth, truths),
    )


def flattened(join: type[And | Or | Xor], parts: list[Condition]) -> Condition:
    """The parts joined as a parser joins them: no AND directly inside an AND."""
    flat = [inner for part in parts for inner in (part.parts if type(part) is join else (part,))]
    return flat[0] if len(flat) == 1 else join(tuple(flat))


def _joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    return st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: flattened(And, parts)),
        st.lists(inner, min_size=2, max_size=4).map(lambda parts: flattened(Or, parts)),
        st.builds(Not, inner),
    )


@cache
def sql_conditions() -> st.SearchStrategy[Condition]:
    """Trees that the SQL parser could have made."""
    return st.recursive(sql_tests(), _joined, max_leaves=6)


@cache
def conditions() -> st.SearchStrategy[Condition]:
    """Any tree: also topics, types, all of Elvin, strings under <, literals SQL cannot write, odd shapes."""
    any_literal = st.one_of(literals(), st.sampled_from((*BYTES, math.inf, -math.inf, math.nan, None)).map(Literal))
    ops = st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
    unlike = st.sampled_from((False, None))
    tests: st.SearchStrategy[Condition] = st.one_of(
        sql_tests(),
        sql_tests(),
        sql_tests(),
        elvin_tests(),
        elvin_tests(),
        st.builds(OfType, _terms(), st.sampled_from(("any", "int32", "real64", "string", "opaque", "nan"))),
        st.builds(TextTest, st.just("contains"), _terms(), st.lists(st.sampled_from(STRINGS), max_size=20).map(tuple)),
        st.builds(Compare, ops, _terms(), any_literal, unlike),
        st.builds(Compare, ops, any_literal, _terms(), unlike),
        st.builds(TopicPattern, st.one_of(st.just(Attribute(("$topic",))), _terms()), st.sampled_from(PATTERNS)),
        st.builds(IsA, st.sampled_from(TYPES)),
        st.builds(XPath, st.sampled_from(XPATHS)),
        st.builds(In, _terms(), st.lists(any_literal, max_size=20).map(tuple)),
        st.sampled_from((And(()), Or(()))),
    )
    return st.recursive(tests, _joined_in_any_shape, max_leaves=8)


# Elvin


@cache
def elvin_attributes() -> st.SearchStrategy[Attribute]:
    """Attributes that Elvin can name: no paths, but any character."""
    often = (*NAMES, *NAMES, *NAMES)
    return st.sampled_from((*often, "a-b", "o.x", "$topic", "1st", 'q"\\', "é")).map(lambda name: Attribute((name,)))


@cache
def elvin_numbers() -> st.SearchStrategy[Expression]:
    """Integers of both widths, attributes and operators; a real64 stands under no bitwise one."""
    integers = st.one_of(st.sampled_from(INT32S).map(Int32), st.sampled_from(INTEGERS)).map(Literal)
    sizes = elvin_attributes().map(lambda attribute: Function("size", (attribute,)))
    leaves: st.SearchStrategy[Expression] = st.one_of(elvin_attributes(), elvin_attributes(), integers, sizes)
    operators = st.sampled_from(("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>"))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Arithmetic, operators, inner, inner),
            st.builds(Arithmetic, st.sampled_from("+-*/%"), inner, st.sampled_from(FLOATS).map(Literal)),
            st.builds(Negative, inner),
            inner.map(lambda operand: Arithmetic("^", operand, Literal(Int32(-1)))),
        ),
        max_leaves=3,
    )


@cache
def elvin_strings() -> st.SearchStrategy[Expression]:
    """Attributes, seldom a function of one."""
    functions = st.sampled_from(("fold-case", "decompose", "decompose-compat"))
    return st.one_of(
        elvin_attributes(),
        elvin_attributes(),
        st.builds(lambda name, operand: Function(name, (operand,)), functions, elvin_attributes()),
    )


@cache
def elvin_tests() -> st.SearchStrategy[Condition]:
    """Conditions without &&, ||, ^^ and ! that Elvin's parser could have made."""
    equality, any_op = st.sampled_from(("=", "<>")), st.sampled_from(("=", "<>", "<", "<=", ">", ">="))
    texts = st.sampled_from(STRINGS)
    plain = st.builds(
        TextTest,
        st.sampled_from(("begins-with", "ends-with", "contains")),
        elvin_strings(),
        st.lists(texts, min_size=1, max_size=3).map(tuple),
    )
    wildcards = st.lists(st.sampled_from(WILDCARDS), min_size=1, max_size=3).map(tuple)
    regexes = st.lists(st.sampled_from(REGEXES), min_size=1, max_size=2).map(tuple)
    types = st.sampled_from(("any", "any", "int32", "int64", "real64", "string", "opaque", "nan"))
    numbers = st.one_of(elvin_numbers(), st.sampled_from(FLOATS).map(Literal))
    return st.one_of(
        st.builds(Compare, any_op, elvin_attributes(), numbers, st.none()),
        st.builds(Compare, any_op, elvin_numbers(), numbers, st.none()),
        st.builds(Compare, equality, elvin_strings(), texts.map(Literal), st.none()),
        plain,
        plain,
        st.builds(TextTest, st.just("wildcard"), elvin_strings(), wildcards),
        st.builds(TextTest, st.just("regex"), elvin_strings(), regexes),
        st.builds(OfType, elvin_attributes(), types),
        st.builds(OfType, elvin_attributes(), types),
    )


@cache
def elvin_conditions() -> st.SearchStrategy[Condition]:
    """Trees that Elvin's parser could have made."""
    return st.recursive(elvin_tests(), _elvin_joined, max_leaves=6)


def _elvin_joined(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    odd = st.lists(inner, min_size=2, max_size=3).map(lambda parts: flattened(Xor, parts))
    return st.one_of(_joined(inner), _joined(inner), odd)


def _joined_in_any_shape(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    """Also an AND inside an AND, of one part, and of none."""
    parts = st.lists(inner, max_size=3).map(tuple)
    return st.one_of(_joined(inner), st.builds(And, parts), st.builds(Or, parts), st.builds(Xor, parts))


# Texts

WORDS = (
    "a", "b", "o.x", "list[0]", '"two words"', "$topic", "AND", "or", "NOT", "Between", "LIKE", "IN", "IS", "NULL",
    "TRUE", "ESCAPE", "TIMESTAMP", "'a%'", "'2002-01-01'", "'it''s'", "'!'", "1", "0x1F", "017", "7.", "-.5", "1e9",
    "=", "<>", "<", ">=", "+", "-", "*", "/", "(", ")", ",", "size(", "contains(", "regex(", "f(", "'", '"', "!=",
    "\n", ".", "[", "08",
)  # fmt: skip


@cache
def sql_texts() -> st.SearchStrategy[str]:
    """Words of SQL in any order: few of these parse."""
    return st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


ELVIN_WORDS = (
    "a", "b-c", "o.x", "\\$topic", "a\\ b", "a==b", "&&", "||", "^^", "!", "==", "!=", "<", ">=", "+", "-", "*", "/",
    "%", "&", "|", "^", "~", "<<", ">>", ">>>", "(", ")", ",", "require(", "int32(", "nan(", "size(", "equals(",
    "regex(", "begins-with(", "wildcard(", "fold-case(", "f(", "'a%'", '"it\'s"', "'\\''", "1", "0x1F", "017", "08",
    "7.0", "7.", "1L", "3000000000", "1.5e-3", "'", '"', "=", "\\", "\n",
)  # fmt: skip


@cache
def elvin_texts() -> st.SearchStrategy[str]:
    """Words of Elvin in any order: few of these parse."""
    return st.lists(st.sampled_from(ELVIN_WORDS), max_size=10).map(" ".join)


@cache
def tag_texts() -> st.SearchStrategy[str]:
    pieces = st.sampled_from(
        ("a", "b", "two words", "=", "=", ",", "*", "\\", "\\,", "\\=", "\\*", "1", "-2.5", "true", " ")
    )
    return st.lists(pieces, max_size=10).map("".join)
