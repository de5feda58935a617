"""The built-in functions of the SQL selector and of Elvin, as data.

A null argument makes the result null; an argument of a kind the function is not for makes a condition false and a
value null.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec
import re2  # type: ignore[import-untyped]

from agvent import limits
from agvent.errors import CallerError
from agvent.event import Kind, Value, equal, kind_of


class Builtin(msgspec.Struct, frozen=True, kw_only=True):
    """One function: how many arguments, what it gives, and whether it can stand alone as a condition."""

    arity: int
    is_condition: bool
    compute: Callable[..., Value]
    doc: str


class Regex(Protocol):
    """A compiled expression; `search` is None where nothing matches."""

    def search(self, text: str) -> object: ...


@lru_cache(maxsize=4_096)
def compiled(pattern: str) -> Regex:
    """An RE2 program: linear time, bounded memory, no back-references and no look-around."""
    options = re2.Options()
    options.max_mem = limits.REGEX_PROGRAM_BYTES_MAX
    options.log_errors = False
    try:
        return re2.compile(pattern, options)  # type: ignore[no-any-return]
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace")
        raise CallerError(f"the regular expression does not compile: {reason}", hint="the dialect is RE2's") from None


def _contains(whole: Any, part: Any) -> bool:
    if kind_of(whole) is Kind.LIST:
        return any(equal(item, part) for item in whole)
    return _are_strings(whole, part) and part in whole


def _starts_with(text: Any, prefix: Any) -> bool:
    return _are_strings(text, prefix) and text.startswith(prefix)


def _ends_with(text: Any, suffix: Any) -> bool:
    return _are_strings(text, suffix) and text.endswith(suffix)


def _regex(text: Any, pattern: str) -> bool:
    return isinstance(text, str) and compiled(pattern).search(text) is not None


def _lower(text: Any) -> str | None:
    return text.lower() if isinstance(text, str) else None


def _fold_case(text: Any) -> str | None:
    return text.casefold() if isinstance(text, str) else None


def _decompose(text: Any) -> str | None:
    return unicodedata.normalize("NFD", text) if isinstance(text, str) else None


def _decompose_compat(text: Any) -> str | None:
    return unicodedata.normalize("NFKD", text) if isinstance(text, str) else None


def _size(value: Any) -> int | None:
    return len(value) if kind_of(value) in (Kind.STRING, Kind.LIST, Kind.BYTES) else None


def _are_strings(a: Any, b: Any) -> bool:
    return isinstance(a, str) and isinstance(b, str)


FUNCTIONS: Final[Mapping[str, Builtin]] = {
    "contains": Builtin(
        arity=2,
        is_condition=True,
        compute=_contains,
        doc="the string has the other in it, or the list has an element equal to the scalar",
    ),
    "starts_with": Builtin(arity=2, is_condition=True, compute=_starts_with, doc="the string begins with the other"),
    "ends_with": Builtin(arity=2, is_condition=True, compute=_ends_with, doc="the string ends with the other"),
    "regex": Builtin(
        arity=2,
        is_condition=True,
        compute=_regex,
        doc="the RE2 expression, a string literal, matches somewhere in the string",
    ),
    "lower": Builtin(arity=1, is_condition=False, compute=_lower, doc="the string in lower case"),
    "size": Builtin(
        arity=1,
        is_condition=False,
        compute=_size,
        doc="characters of a string, elements of a list, bytes of bytes",
    ),
}


ELVIN_FUNCTIONS: Final[Mapping[str, Builtin]] = {
    "size": FUNCTIONS["size"],
    "fold-case": Builtin(arity=1, is_condition=False, compute=_fold_case, doc="the string without differences of case"),
    "decompose": Builtin(arity=1, is_condition=False, compute=_decompose, doc="the string in Unicode's form NFD"),
    "decompose-compat": Builtin(
        arity=1, is_condition=False, compute=_decompose_compat, doc="the string in Unicode's form NFKD"
    ),
}
TEXT_FUNCTIONS: Final = ("lower", "fold-case", "decompose", "decompose-compat")
"""The functions of a string that give a string."""

BUILTINS: Final[Mapping[str, Builtin]] = {**FUNCTIONS, **ELVIN_FUNCTIONS}


def apply(name: str, args: tuple[Value, ...]) -> Value:
    """The function's value; null if an argument is."""
    if any(kind_of(arg) is Kind.NULL for arg in args):
        return None
    return BUILTINS[name].compute(*args)
