"""The bounds every language's text and tree must keep; the messages name them."""

from __future__ import annotations

from agvent import limits
from agvent.errors import FilterError
from agvent.filters.tree import (
    Compare,
    Condition,
    In,
    IsA,
    IsNull,
    Like,
    Node,
    OfType,
    TextTest,
    TopicPattern,
    Truth,
    XPath,
    children,
)

PREDICATES = (Compare, In, Like, IsNull, Truth, OfType, TopicPattern, IsA, XPath)


def check_text(text: str) -> None:
    """Refuses a text that is too long or carries a lone surrogate, which no event can."""
    if len(text) > limits.FILTER_CHARS_MAX:
        raise FilterError(
            f"the filter has {len(text)} characters, at most {limits.FILTER_CHARS_MAX} are allowed",
            text,
            limits.FILTER_CHARS_MAX,
        )
    if not text.isascii():
        _check_surrogates(text)


def _check_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"lone surrogate U+{ord(text[error.start]):04X}"
        raise FilterError(message, text, error.start, hint="no event carries one") from None


def check_tree(tree: Condition, text: str) -> None:
    """Refuses a tree that is too deep or has too many predicates; walks level by level, so depth costs no stack."""
    level: list[Node] = [tree]
    depth = predicates = 0
    while level:
        depth += 1
        predicates += sum(map(_predicates, level))
        level = [child for node in level for child in children(node)]
    if depth > limits.FILTER_DEPTH_MAX:
        raise too_deep(text, 0)
    if predicates > limits.FILTER_PREDICATES_MAX:
        message = f"the filter has {predicates} predicates, at most {limits.FILTER_PREDICATES_MAX} are allowed"
        raise FilterError(message, text, 0)


def _predicates(node: Node) -> int:
    match node:
        case In(_, values):
            return len(values)
        case TextTest(texts=texts):
            return len(texts)
        case _:
            return isinstance(node, PREDICATES)


def too_deep(text: str, position: int) -> FilterError:
    """The error of a filter that nests too deep, at the place where reading stopped."""
    return FilterError(f"the filter nests deeper than {limits.FILTER_DEPTH_MAX} levels", text, position)
