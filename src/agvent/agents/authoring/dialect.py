"""What pydantic-monty 1.4.0 has of Python's library, as data; a method that needs more is refused before it travels.

tests/unit/sandbox/test_dialect.py tries all of it in a worker. Only what can be seen in the text is refused: of a
variable nobody knows the type. docs/agvents.md lists the rest.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta, timezone
from types import ModuleType
from typing import Any, Final

from agvent.errors import ProgramError


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NAMES: Final[dict[str, frozenset[str]]] = {
    "base64": _words(
        """MAXBINSIZE MAXLINESIZE a85decode a85encode b16decode b16encode b32decode b32encode b32hexdecode b32hexencode
        b64decode b64encode b85decode b85encode decodebytes encodebytes standard_b64decode standard_b64encode
        urlsafe_b64decode urlsafe_b64encode"""
    ),
    "bisect": _words("bisect bisect_left bisect_right insort insort_left insort_right"),
    "collections": _words("Counter defaultdict deque namedtuple"),
    "datetime": _words("date datetime time timedelta timezone"),
    "decimal": _words(
        """Clamped Context ConversionSyntax Decimal DecimalException DecimalTuple DivisionByZero DivisionImpossible
        DivisionUndefined FloatOperation HAVE_CONTEXTVAR HAVE_THREADS Inexact InvalidContext InvalidOperation MAX_EMAX
        MAX_PREC MIN_EMIN MIN_ETINY Overflow ROUND_05UP ROUND_CEILING ROUND_DOWN ROUND_FLOOR ROUND_HALF_DOWN
        ROUND_HALF_EVEN ROUND_HALF_UP ROUND_UP Rounded Subnormal Underflow"""
    ),
    "functools": _words("cache lru_cache partial reduce"),
    "itertools": _words(
        """accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse
        groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest"""
    ),
    "json": _words("JSONDecodeError dumps loads"),
    "math": _words(
        """acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2
        expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp
        lgamma log log10 log1p log2 modf nan nextafter perm pi pow prod radians remainder sin sinh sqrt tan tanh tau
        trunc ulp"""
    ),
    "re": _words(
        """A ASCII DOTALL I IGNORECASE M MULTILINE Match NOFLAG Pattern S compile error escape findall finditer
        fullmatch match search split sub"""
    ),
}
"""Modules that a method may use, and what it may use of them: what is there, and gives the same answers every time."""

_LASTING = "make one with Context(…), or give quantize() its rounding: that one outlasts the call"

IMPURE_NAMES: Final = {
    **dict.fromkeys(
        ("BasicContext", "DefaultContext", "ExtendedContext", "getcontext", "localcontext", "setcontext"), _LASTING
    ),
    "dump": "use dumps: there are no files",
    "load": "use loads: there are no files",
}
"""What these modules have beside that, and why a behaviour has not."""

INSTEAD: Final = {
    "OrderedDict": "use dict, which keeps its order",
    "ChainMap": "merge them: {**one, **other}",
    "cmp_to_key": "give a key: sorted(values, key=lambda one: …)",
    "subn": "use sub",
    "VERBOSE": "write the pattern on one line",
    "X": "write the pattern on one line",
    "UTC": "write timezone.utc",
}
"""What to write for some that it has not."""

CLASSES: Final[dict[type, frozenset[str]]] = {
    **dict.fromkeys((bool, float, frozenset, int, list, set, str, tuple), frozenset()),
    bytes: frozenset(("fromhex",)),
    date: frozenset(("fromisoformat", "max", "min", "resolution")),
    datetime: frozenset(("combine", "fromisoformat", "max", "min", "resolution", "strptime")),
    dict: frozenset(("fromkeys",)),
    time: frozenset(("fromisoformat", "max", "min", "resolution")),
    timedelta: frozenset(("max", "min", "resolution")),
    timezone: frozenset(("max", "min", "utc")),
}
"""What may be said of a class itself, such as `datetime.max`; `str.lower` may not."""

_EPOCH = "write datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=…)"
_NO_CLOCK = "use a parameter, or a field of the agvent: a behaviour has no clock"

LACKING: Final = {
    "bit_count": 'write bin(n).count("1")',
    "bit_length": "write len(bin(abs(n))) - 2",
    "ctime": "use strftime",
    "denominator": "keep both numbers",
    "difference_update": "write one - other",
    "format_map": "write format(**values)",
    "from_bytes": "write int(data.hex(), 16)",
    "fromtimestamp": _EPOCH,
    "groupindex": "use groupdict()",
    "intersection_update": "write one & other",
    "is_integer": "write x == int(x)",
    "isocalendar": "use weekday()",
    "lastgroup": "use groupdict()",
    "lastindex": "use groups()",
    "maketrans": 'write "".join(table.get(one, one) for one in text)',
    "now": _NO_CLOCK,
    "numerator": "keep both numbers",
    "symmetric_difference_update": "write one ^ other",
    "timetuple": "name the fields: year, month, day",
    "to_bytes": 'write bytes.fromhex(f"{n:08x}")',
    "today": _NO_CLOCK,
    "toordinal": "write (day - date.min).days + 1",
    "translate": 'write "".join(table.get(one, one) for one in text)',
    "utcfromtimestamp": _EPOCH,
    "utcnow": _NO_CLOCK,
    "utctimetuple": "name the fields: year, month, day",
}
"""Attributes that Python's own types have, and none of them in the sandbox; what to write instead."""

METHODS: Final = _words(
    """add append appendleft astimezone capitalize casefold center clear copy count date decode difference discard
    elements encode end endswith expandtabs extend extendleft find findall finditer format fullmatch get group groupdict
    groups hex index insert intersection isalnum isalpha isascii isdecimal isdigit isdisjoint isidentifier islower
    isnumeric isoformat isoweekday isprintable isspace issubset issuperset istitle isupper items join keys ljust lower
    lstrip match most_common partition pop popitem popleft remove removeprefix removesuffix replace reverse rfind rindex
    rjust rotate rpartition rsplit rstrip search setdefault sort span split splitlines startswith strftime strip
    sub subtract swapcase symmetric_difference time timestamp timetz title total total_seconds tzname union update upper
    utcoffset values weekday zfill"""
)
"""Methods of Python's own types: there they are called where they stand, and are no values of their own."""

CODECS: Final = _words("ascii us-ascii utf-8 utf8 utf-16 utf-16-be utf-16-le utf-32")
"""Encodings of texts."""

LISTS: Final = (enumerate, filter, map, reversed, zip)
"""Functions that give a list there, where Python's own give an iterator."""


def check_dialect(whose: str, tree: ast.FunctionDef, known: Mapping[str, Any], own: set[str]) -> None:
    """Refuses what the sandbox's Python has not, with the line and what to write instead. `known` are the values of the
    names that the function takes from around it, `own` the members of the agvent's class."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called, handed = {id(node.func) for node in calls}, {id(one) for node in calls for one in _handed(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = _call(node, known)
        elif not isinstance(node, ast.Attribute):
            continue
        elif isinstance(owner := _value(node.value, known), (ModuleType, type)):
            found = _member(node, owner, is_called=id(node) in called)
        else:
            found = _attribute(node, is_handed=id(node) in handed) if node.attr not in own else iter(())
        for what, hint in found:
            raise ProgramError(f"{whose}: the sandbox does not run {what}", line=node.lineno, hint=hint)


def _handed(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given to call in its turn: `key=…`, and the first argument of `map` and its like."""
    yield from (one.value for one in call.keywords if one.arg == "key")
    if isinstance(call.func, ast.Name) and call.func.id in ("filter", "map", "reduce"):
        yield from call.args[:1]


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    """What an expression is, if it is a name from around the function, or a member of a module."""
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, known)
        return getattr(owner, node.attr, None) if isinstance(owner, ModuleType) else None
    return known.get(node.id) if isinstance(node, ast.Name) else None


def _member(node: ast.Attribute, owner: ModuleType | type, *, is_called: bool) -> Iterator[tuple[str, str]]:
    """What a module or a class has not."""
    name, text = node.attr, ast.unparse(node)
    if isinstance(owner, ModuleType):
        if name not in NAMES.get(owner.__name__, (name,)):
            yield text, hint_of(owner.__name__, name)
    elif name not in CLASSES.get(owner, (name,)):
        yield text, LACKING.get(name) or (f"write lambda one: one.{name}()" if name in METHODS else "leave it out")
    elif owner in CLASSES and not is_called and callable(getattr(owner, name, None)):
        yield f"{text} without a call", f"write lambda one: {text}(one)"


def _attribute(node: ast.Attribute, *, is_handed: bool) -> Iterator[tuple[str, str]]:
    """What no value has, whatever its type; a method that is handed on without a call."""
    if node.attr in LACKING:
        yield f".{node.attr}", LACKING[node.attr]
    elif is_handed and node.attr in METHODS:
        text = ast.unparse(node)
        yield f"{text} without a call", f"write lambda one: {text}(one)"


def _call(node: ast.Call, known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    match node:
        case ast.Call(ast.Name(("getattr" | "hasattr") as name), [_, ast.Constant(str(text)), *_]) if text in METHODS:
            yield f'{name}(…, "{text}")', f"write the call itself: x.{text}()"
        case ast.Call(ast.Name("bytes"), [ast.List() | ast.Tuple() | ast.ListComp() | ast.GeneratorExp()]):
            yield "bytes([…])", 'write bytes.fromhex("".join(f"{n:02x}" for n in numbers))'
        case ast.Call(ast.Name("next"), [ast.GeneratorExp(), *_]):
            yield "next() of a generator", "write next(iter([… for … in …]))"
        case ast.Call(ast.Name("next"), [ast.Call(ast.Name(name)), *_]) if known.get(name) in LISTS:
            yield f"next({name}(…))", f"write next(iter({name}(…)))"
        case ast.Call(ast.Attribute(_, ("encode" | "decode") as name), [ast.Constant(str(codec)), *_]):
            if codec.lower().replace("_", "-") not in CODECS:
                yield f'{name}("{codec}")', "use utf-8 or ascii"


def hint_of(module: str, name: str) -> str:
    """What to write for a name of a module that the sandbox has not."""
    has = f"of {module} it has {', '.join(sorted(NAMES[module]))}"
    return IMPURE_NAMES.get(name) or INSTEAD.get(name) or has
