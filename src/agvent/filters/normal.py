"""The normal form: a condition as a bounded disjunction of rows, each a conjunction of primitives.

A primitive is one two-valued test of one term, so that an engine can index it. A row accepts an event if all its
primitives do; the condition is true of the event exactly if some row accepts it.

Conditions have three outcomes, primitives two. The third one is spent here: `_rows(node, want)` gives rows that accept
exactly the events for which the node is `want`, true or false. An event for which it is unknown is accepted by neither.
So NOT does not complement rows, it asks the same node for the other outcome. To complement the rows of the positive
form is the obvious alternative, and wrong: `NOT price > 10` would then accept an event without a price.

The negative primitives (NotRange, NoneOf …) are loose: they accept a missing value too, because an index finds that
cheap. Where the logic needs a value, a Present or a kind test (a Range without bounds) stands beside them in the row.

Rows multiply: an AND of ten ORs of two has 1,024. At most `limits.DISJUNCTS_MAX` come out. Three rules keep them few:

- `a = 1 OR a = 2` is one membership;
- an OR of single tests beside an indexable row is one AnyOf;
- a part that would still make too many rows becomes Opaque as a whole, the largest first.

What has no primitive (arithmetic, behaviours, comparisons of two attributes) is Opaque as well. The oracle decides an
Opaque part, and only for events that pass the rest of the row. Beside it stand the primitives that say its operands
have values, so that most events are ruled out without asking.

Invariant, held by tests/property/test_filters.py: some row accepts an event exactly if `evaluate` says True.

Cost: linear in the condition times DISJUNCTS_MAX, once for each filter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, product
from typing import Any

import msgspec

from agvent import limits
from agvent.event import TYPES, Kind, kind_of
from agvent.filters.evaluate import evaluate, value
from agvent.filters.functions import TEXT_FUNCTIONS
from agvent.filters.patterns import Tokens, Wild, like_tokens, text_tokens, topic_tokens
from agvent.filters.primitives import (
    Absent,
    AnyOf,
    Has,
    HasNot,
    MatchesPattern,
    NoneOf,
    NotMatches,
    NotRange,
    OneOf,
    Present,
    Range,
    Simple,
    Term,
    is_empty,
    is_term,
    joined,
    term_in,
)
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
    walk,
)


class Opaque(msgspec.Struct, frozen=True, gc=False):
    """The oracle must find this condition `want`."""

    condition: Condition
    want: bool


Primitive = Simple | AnyOf | Opaque
Row = tuple[Primitive, ...]
Rows = tuple[Row, ...]

ALWAYS: Rows = ((),)
NEVER: Rows = ()
ORDERED = (Kind.NUMBER, Kind.TIME)
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


def normal(condition: Condition) -> Rows:
    """The rows of a condition, each without contradictions that are plain to see."""
    return tuple(row for row in map(_simplified, unsimplified(condition)) if row is not None)


def unsimplified(condition: Condition) -> Rows:
    """The rows before ranges of one term are joined, which is where the order of literals first matters."""
    return _rows(condition, True)


def _rows(node: Condition, want: bool) -> Rows:
    """Rows that accept exactly the events for which the node is `want`."""
    return RULES[type(node)](node, want)


def _not(node: Not, want: bool) -> Rows:
    return _rows(node.part, not want)


def _and(node: And, want: bool) -> Rows:
    return _all(node.parts, True) if want else _any(node, node.parts, False)


def _or(node: Or, want: bool) -> Rows:
    return _any(node, node.parts, True) if want else _all(node.parts, False)


def _xor(node: Xor, want: bool) -> Rows:
    """Two parts are told apart or found equal; more, or one inside another, would double the rows with each."""
    if len(node.parts) != 2 or any(isinstance(inner, Xor) for part in node.parts for inner in walk(part)):
        return ((Opaque(node, want),),)
    a, b = node.parts
    return _rows(Or((And((a, Not(b))), And((Not(a), b))) if want else (And((a, b)), And((Not(a), Not(b))))), True)


def _all(parts: Iterable[Condition], want: bool) -> Rows:
    """The product of the parts' rows; the parts that would make it too large become opaque, largest first."""
    pairs = [(part, _rows(part, want)) for part in parts]
    count = 1
    for _, rows in pairs:
        count *= len(rows)
    if count == 1:
        return (tuple(primitive for _, (row,) in pairs for primitive in row),)
    if any(len(rows) == 1 for _, rows in pairs):
        pairs = [(part, _as_one_row(rows)) for part, rows in pairs]
    if count > limits.DISJUNCTS_MAX:
        pairs = _thinned(pairs, want)
    return tuple(tuple(chain.from_iterable(chosen)) for chosen in product(*(rows for _, rows in pairs)))


def _as_one_row(rows: Rows) -> Rows:
    """Beside a row that can be indexed, `a OR b` is a test of its own and need not be multiplied out."""
    parts = [row[0] for row in rows if len(row) == 1 and not isinstance(row[0], (Opaque, AnyOf))]
    return ((AnyOf(tuple(parts)),),) if len(parts) == len(rows) > 1 else rows


def _thinned(pairs: list[tuple[Condition, Rows]], want: bool) -> list[tuple[Condition, Rows]]:
    kept: list[tuple[Condition, Rows]] = []
    product = 1
    for part, rows in sorted(pairs, key=lambda pair: len(pair[1])):
        if product * len(rows) > limits.DISJUNCTS_MAX:
            rows = ((Opaque(part, want),),)
        product *= len(rows)
        kept.append((part, rows))
    return kept


def _any(node: Condition, parts: Iterable[Condition], want: bool) -> Rows:
    rows = [row for part in parts for row in _rows(part, want)]
    rows = _merged(rows)
    return tuple(rows) if len(rows) <= limits.DISJUNCTS_MAX else ((Opaque(node, want),),)


def _merged(rows: list[Row]) -> list[Row]:
    """`a = 1 OR a = 2` is `a IN (1, 2)`: one row instead of two."""
    merged: dict[Term, dict[Literal, None]] = {}
    rest: list[Row] = []
    for row in rows:
        if len(row) == 1 and type(row[0]) is OneOf:
            merged.setdefault(row[0].term, {}).update(dict.fromkeys(row[0].values))
        else:
            rest.append(row)
    return [(OneOf(term, tuple(values)),) for term, values in merged.items()] + rest


def _compare(node: Compare, want: bool) -> Rows:
    op, left, right = node.op, node.left, node.right
    if isinstance(left, Literal):
        if isinstance(right, Literal):
            return _constant(node, want)
        op, left, right = FLIPPED[op], right, left
    term = term_in(left)
    if term is None:
        return _asked(node, (left, right), want)
    if not isinstance(right, Literal):
        constant = _folded(right)
        if constant is None:
            return _asked(node, (left, right), want)
        right = constant
    return _compare_literal(op, term, right, node.unlike, want)


def _compare_literal(op: str, term: Term, literal: Literal, unlike: bool | None, want: bool) -> Rows:
    kind = kind_of(literal.value)
    if kind is Kind.NULL:
        return NEVER
    any_of_kind = Range(term, kind)
    if op in ("=", "<>"):
        equal: Rows = ((OneOf(term, (literal,)),),)
        differs: Rows = ((any_of_kind, NoneOf(term, (literal,))),)
        if (op == "=") is want:
            unlike_too = op == "<>" and unlike is False
            return (*equal, (Present(term), NotRange(any_of_kind))) if unlike_too else equal
        if op == "=" and unlike is False:
            return ((Present(term), NoneOf(term, (literal,))),)
        return differs
    if kind not in ORDERED:  # JMS: strings and booleans have no order
        return ((Present(term),),) if unlike is False and not want else NEVER
    inside = _range(op, term, kind, literal.value)
    if want:
        return ((inside,),)
    return ((Present(term), NotRange(inside)),) if unlike is False else ((any_of_kind, NotRange(inside)),)


def _asked(node: Condition, operands: Iterable[Expression], want: bool) -> Rows:
    """For the oracle, but only where the operands can have values: without one the condition is unknown."""
    return ((*(one for operand in operands for one in _needed(operand)), Opaque(node, want)),)


def _needed(node: Expression) -> Row:
    """What is so wherever the expression has a value."""
    match node:
        case Attribute():
            return (Present(node),)
        case Arithmetic(_, left, right):
            return (*_needed_of(left, Kind.NUMBER), *_needed_of(right, Kind.NUMBER))
        case Negative(operand):
            return _needed_of(operand, Kind.NUMBER)
        case Function(name, (operand,)) if name in TEXT_FUNCTIONS:
            return _needed_of(operand, Kind.STRING)
        case Function(_, args):
            return tuple(one for arg in args for one in _needed(arg))
        case _:
            return ()


def _needed_of(node: Expression, kind: Kind) -> Row:
    return (Range(node, kind),) if isinstance(node, Attribute) else _needed(node)


def _range(op: str, term: Term, kind: Kind, bound: Any) -> Range:
    is_open = len(op) == 1
    if op[0] == ">":
        return Range(term, kind, low=bound, low_open=is_open)
    return Range(term, kind, high=bound, high_open=is_open)


def _in(node: In, want: bool) -> Rows:
    term = term_in(node.operand)
    if term is None:
        return _constant(node, want) if isinstance(node.operand, Literal) else ((Opaque(node, want),),)
    values = tuple(literal for literal in node.values if kind_of(literal.value) is not Kind.NULL)
    if not values:
        return NEVER if want else ((Present(term),),)
    return ((OneOf(term, values),),) if want else ((Present(term), NoneOf(term, values)),)


def _like(node: Like, want: bool) -> Rows:
    return _matches(node, node.operand, (like_tokens(node.pattern, node.escape),), want)


def _topic_pattern(node: TopicPattern, want: bool) -> Rows:
    return _matches(node, node.operand, topic_tokens(node.pattern), want)


def _matches(node: Condition, operand: Expression, patterns: tuple[Tokens, ...], want: bool) -> Rows:
    term = term_in(operand)
    if term is None:
        return _constant(node, want) if isinstance(operand, Literal) else ((Opaque(node, want),),)
    if want:
        return tuple((_match(term, tokens),) for tokens in patterns)
    return ((Present(term), *(NotMatches(term, tokens) for tokens in patterns)),)


def _match(term: Term, tokens: Tokens) -> Primitive:
    """A pattern without wildcards is an equality, one that is a lone `%` any string."""
    if all(isinstance(token, str) for token in tokens):
        return OneOf(term, (Literal("".join(map(str, tokens))),))
    return Range(term, Kind.STRING) if tokens == (Wild.MANY,) else MatchesPattern(term, tokens)


def _text_test(node: TextTest, want: bool) -> Rows:
    """A pattern for each text; regular expressions, and more texts than rows, are asked of strings only."""
    if isinstance(node.operand, Literal):
        return _constant(node, want)
    term = term_in(node.operand)
    if term is None:
        return _asked(node, (node.operand,), want)
    is_string = Range(term, Kind.STRING)
    patterns = [text_tokens(node.test, text) for text in node.texts]
    if None in patterns or len(patterns) > limits.DISJUNCTS_MAX:
        return ((is_string, Opaque(node, want)),)
    if want:
        return tuple(_merged([(_match(term, tokens),) for tokens in patterns if tokens is not None]))
    return ((is_string, *(NotMatches(term, tokens) for tokens in patterns if tokens is not None)),)


def _of_type(node: OfType, want: bool) -> Rows:
    """A slot says of what kind a value is; which sort of number, the oracle."""
    term = term_in(node.operand)
    if term is None:
        return _constant(node, want) if isinstance(node.operand, Literal) else ((Opaque(node, want),),)
    if node.type == "any":
        return ((Present(term),),) if want else NEVER
    if node.type in TYPE_KINDS:
        of_kind = Range(term, TYPE_KINDS[node.type])
        return ((of_kind,),) if want else ((Present(term), NotRange(of_kind)),)
    is_number = Range(term, Kind.NUMBER)
    if node.type == "nan":  # a NaN is null, and only of a float is it false
        return ((Absent(term) if want else is_number, Opaque(node, want)),)
    return ((is_number if want else Present(term), Opaque(node, want)),)


TYPE_KINDS = {"string": Kind.STRING, "opaque": Kind.BYTES}


def _is_null(node: IsNull, want: bool) -> Rows:
    term = term_in(node.operand)
    if term is None:
        return _constant(node, want) if isinstance(node.operand, Literal) else ((Opaque(node, want),),)
    return ((Absent(term) if want else Present(term),),)


def _is_a(node: IsA, want: bool) -> Rows:
    types = Attribute((TYPES,))
    return ((Has(types, Literal(node.type)) if want else HasNot(types, Literal(node.type)),),)


def _xpath(node: XPath, want: bool) -> Rows:
    return ((Present(Attribute(("$xml",))), Opaque(node, want)),)


def _truth(node: Truth, want: bool) -> Rows:
    operand = node.operand
    if isinstance(operand, Literal):
        return _constant(node, want)
    if isinstance(operand, Function) and operand.name in PREDICATES and is_term(operand.args[0]):
        term, argument = operand.args[0], operand.args[1]
        if isinstance(argument, Literal):
            if kind_of(argument.value) is Kind.NULL:
                return NEVER
            return PREDICATES[operand.name](term, argument, want)  # type: ignore[arg-type]
    term_of_operand = term_in(operand)
    if term_of_operand is None:
        return ((Opaque(node, want),),)
    return ((OneOf(term_of_operand, (Literal(want),)),),)


def _contains(term: Term, argument: Literal, want: bool) -> Rows:
    """A substring of a string, or an element of a list."""
    if not isinstance(argument.value, str):
        return ((Has(term, argument),),) if want else ((Present(term), HasNot(term, argument)),)
    tokens: Tokens = (Wild.MANY, argument.value, Wild.MANY) if argument.value else (Wild.MANY,)
    if want:
        return ((_match(term, tokens),), (Has(term, argument),))
    return ((Present(term), NotMatches(term, tokens), HasNot(term, argument)),)


def _starts_with(term: Term, argument: Literal, want: bool) -> Rows:
    return _affix(term, argument, want, lambda text: (text, Wild.MANY))


def _ends_with(term: Term, argument: Literal, want: bool) -> Rows:
    return _affix(term, argument, want, lambda text: (Wild.MANY, text))


def _affix(term: Term, argument: Literal, want: bool, pattern: Callable[[str], Tokens]) -> Rows:
    if not isinstance(argument.value, str):
        return NEVER if want else ((Present(term),),)
    tokens: Tokens = pattern(argument.value) if argument.value else (Wild.MANY,)
    return ((_match(term, tokens),),) if want else ((Present(term), NotMatches(term, tokens)),)


PREDICATES: dict[str, Callable[[Term, Literal, bool], Rows]] = {
    "contains": _contains,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
}


def _folded(node: Expression) -> Literal | None:
    """The literal an expression without attributes and calls comes to."""
    if any(isinstance(part, (Attribute, Call)) for part in walk(node)):
        return None
    return Literal(value(node, {}))


def _constant(node: Condition, want: bool) -> Rows:
    return ALWAYS if evaluate(node, {}) is want else NEVER


RULES: dict[type, Callable[[Any, bool], Rows]] = {
    Compare: _compare,
    In: _in,
    Like: _like,
    IsNull: _is_null,
    Truth: _truth,
    OfType: _of_type,
    TextTest: _text_test,
    TopicPattern: _topic_pattern,
    IsA: _is_a,
    XPath: _xpath,
    Not: _not,
    And: _and,
    Or: _or,
    Xor: _xor,
}

IMPLY_PRESENCE = (Range, OneOf, MatchesPattern, Has)


def _simplified(row: Row) -> Row | None:
    """Ranges of one term joined, repeated and implied primitives dropped; None if nothing can pass."""
    if len(row) < 2:
        return row if not _is_empty_range(row) else None
    ranges: dict[tuple[Term, Kind], Range] = {}
    others: dict[Primitive, None] = {}
    implied: set[Term] = set()
    for primitive in row:
        if type(primitive) is Range:
            key = (primitive.term, primitive.kind)
            known = ranges.get(key)
            ranges[key] = joined(known, primitive) if known else primitive
        else:
            others[primitive] = None
        if type(primitive) in IMPLY_PRESENCE:
            implied.add(primitive.term)  # type: ignore[union-attr]
    if any(is_empty(one) for one in ranges.values()):
        return None
    rest = [p for p in others if not (type(p) is Present and p.term in implied)]
    return (*ranges.values(), *rest)


def _is_empty_range(row: Row) -> bool:
    return bool(row) and type(row[0]) is Range and is_empty(row[0])
