"""The expressions of a filter over the columns of a DataFrame.

An operand is a column of one known kind, or a literal; None is an expression that Spark has no equal words for. What
kind a column's type has is the matcher's decision (matching/encoders/arrow_values.py).
NaN is null, so `present` looks for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql import types as st
from pyspark.sql.pandas.types import to_arrow_type

from agvent import limits
from agvent.event import TYPES, Int32, Kind, Path, kind_of
from agvent.filters import functions
from agvent.filters.arithmetic import computed
from agvent.filters.functions import TEXT_FUNCTIONS
from agvent.filters.tree import Arithmetic, Attribute, Expression, Function, Literal, Negative
from agvent.matching.encoders.arrow_values import kind_of_type

INTEGERS = (st.ByteType, st.ShortType, st.IntegerType, st.LongType)
REALS = (st.FloatType, st.DoubleType)
PLAIN = (*INTEGERS, *REALS, st.BooleanType, st.BinaryType, st.TimestampType, st.TimestampNTZType, st.DateType)

NULL = Literal(None)


class Operand(NamedTuple):
    """A column and what is known of its values."""

    column: Column
    type: st.DataType
    kind: Kind

    @property
    def is_real(self) -> bool:
        return isinstance(self.type, REALS)

    def present(self) -> Column:
        """True where there is a value."""
        return self.column.isNotNull() & ~sf.isnan(self.column) if self.is_real else self.column.isNotNull()


Compiled = Operand | Literal | None


class FilterColumns:
    """What a filter's attributes and headers are in a DataFrame; a name that is not there is null.

    `types` are where an event's type and ancestors stand. `whole`: the columns hold the whole event. If not, they are
    an event log's (docs/reference/event-log.md): an attribute without a column may be in `rest`, and a number's column
    compares as the number does but may not be of its type.
    """

    def __init__(self, named: Mapping[str, Compiled], *, types: Sequence[Compiled] = (), whole: bool = True) -> None:
        self.types = types
        self.whole = whole
        self._named = named

    def at(self, path: Path) -> Compiled:
        """The column at a path; null if no event has anything there."""
        first = str(path[0])
        if first == TYPES:
            return None
        if first not in self._named:
            return NULL if self.whole or first.startswith("$") else None
        found = self._named[first]
        for step in path[1:]:
            found = _stepped(found, step, path)
        return found


def columns_of(fields: Sequence[tuple[str, Column, st.DataType]]) -> FilterColumns:
    """The columns of a DataFrame, by the names that filters use; reserved names carry the headers."""
    named = {name: operand_of(column, type_, (name,)) for name, column, type_ in fields}
    types = [named["$type"]] if "$type" in named else []
    if types and isinstance(types[0], Operand) and types[0].kind is Kind.LIST:
        named["$type"] = _stepped(types[0], 0, ("$type",))
    time = named.get("$time")
    if isinstance(time, Operand) and time.kind is Kind.STRING:
        named["$time"] = None  # texts of many forms: the matcher reads them
    return FilterColumns(named, types=types)


def quoted(name: str) -> str:
    """A column's name as Spark reads it, whatever characters it has."""
    return f"`{name.replace('`', '``')}`"


def operand_of(column: Column, type_: st.DataType, path: Path) -> Compiled:
    """A column as an operand; an EventError if its type is not a kind of value, as in the matcher."""
    if isinstance(type_, st.NullType):
        return NULL
    kind = kind_of_type(arrow_type(type_), path)
    known = isinstance(type_, (*PLAIN, st.ArrayType, st.StructType)) or type_ == st.StringType()
    return Operand(column, type_, kind) if known else None


def arrow_type(type_: st.DataType) -> object:
    """Spark's type as Arrow's, which is what the matcher is given; a type of Spark's own is shown as it is."""
    try:
        return to_arrow_type(type_, timezone="UTC")
    except PySparkException:
        return type_


def _stepped(found: Compiled, step: str | int, path: Path) -> Compiled:
    if not isinstance(found, Operand):
        return found
    if isinstance(found.type, st.ArrayType) and isinstance(step, int):
        return operand_of(sf.get(found.column, sf.lit(step)), found.type.elementType, (*path, step))
    if isinstance(found.type, st.StructType) and isinstance(step, str):
        return _member(found, step, (*path, step))
    return NULL


def _member(found: Operand, name: str, path: Path) -> Compiled:
    """A struct's field. Spark finds it without regard to case: where that is not one, it is left to the matcher."""
    assert isinstance(found.type, st.StructType)
    types = {field.name: field.dataType for field in found.type.fields}
    if name not in types:
        return NULL
    alone = sum(other.lower() == name.lower() for other in found.type.names) == 1
    return operand_of(found.column.getField(name), types[name], path) if alone else None


def operand(node: Expression, columns: FilterColumns) -> Compiled:
    """An expression over the columns."""
    match node:
        case Literal():
            return node
        case Attribute(path):
            return columns.at(path)
        case Arithmetic(op, left, right):
            return _arithmetic(op, operand(left, columns), operand(right, columns), columns)
        case Negative(inner):
            return _arithmetic("-", Literal(Int32(0)), operand(inner, columns), columns)
        case Function(name, args):
            return _function(name, [operand(arg, columns) for arg in args])
        case _:
            return None


def kind_at(found: Operand | Literal) -> Kind:
    return found.kind if isinstance(found, Operand) else kind_of(found.value)


# Functions


def _function(name: str, args: list[Compiled]) -> Compiled:
    if any(arg is None for arg in args):
        return None
    if any(isinstance(arg, Literal) and kind_of(arg.value) is Kind.NULL for arg in args):
        return NULL
    literals = [arg.value for arg in args if isinstance(arg, Literal)]
    if len(literals) == len(args):
        return Literal(functions.apply(name, tuple(literals)))
    text = args[0]
    if name == "size" and isinstance(text, Operand):
        return _size(text)
    if name in TEXT_FUNCTIONS and isinstance(text, Operand) and text.kind is not Kind.STRING:
        return NULL
    return None  # Java's Unicode is not Python's


def _size(found: Operand) -> Compiled:
    match found.kind:
        case Kind.STRING:
            size = sf.char_length(found.column)
        case Kind.BYTES:
            size = sf.octet_length(found.column)
        case Kind.LIST:
            size = sf.array_size(found.column)
        case _:
            return NULL
    return Operand(size, st.IntegerType(), Kind.NUMBER)


# Arithmetic


def _arithmetic(op: str, left: Compiled, right: Compiled, columns: FilterColumns) -> Compiled:
    if left is None or right is None:
        return None
    if kind_at(left) is not Kind.NUMBER or kind_at(right) is not Kind.NUMBER:
        return NULL
    if isinstance(left, Literal) and isinstance(right, Literal):
        return Literal(computed(op, left.value, right.value))
    reals = [_is_real(side) for side in (left, right)]
    if any(reals):
        return _real(op, left, right) if columns.whole else None
    return _integer(op, _number(left, st.LongType()), _number(right, st.LongType()))


def _is_real(side: Operand | Literal) -> bool:
    return side.is_real if isinstance(side, Operand) else isinstance(side.value, float)


def _number(side: Operand | Literal, type_: st.DataType) -> Column:
    return (side.column if isinstance(side, Operand) else sf.lit(side.value)).cast(type_)


def _real(op: str, left: Operand | Literal, right: Operand | Literal) -> Compiled:
    """IEEE's, as Python and Java have it; a division by zero has no result."""
    a, b = _number(left, st.DoubleType()), _number(right, st.DoubleType())
    match op:
        case "+":
            result = a + b
        case "-":
            result = a - b
        case "*":
            result = a * b
        case "/":
            result = a / _nonzero(b)
        case "%":
            result = a % _nonzero(b)
        case _:
            return NULL  # bits of a float
    return Operand(result, st.DoubleType(), Kind.NUMBER)


def _integer(op: str, a: Column, b: Column) -> Compiled:
    """64 bits; beyond them there is no result."""
    match op:
        case "+":
            result = sf.try_add(a, b)
        case "-":
            result = sf.try_subtract(a, b)
        case "*":
            result = sf.try_multiply(a, b)
        case "/":
            overflows = (a == limits.INT_MIN) & (b == -1)
            result = sf.when(~overflows, sf.call_function("div", a, _nonzero(b)))
        case "%":
            result = a % _nonzero(b)
        case "&":
            result = a.bitwiseAND(b)
        case "|":
            result = a.bitwiseOR(b)
        case "^":
            result = a.bitwiseXOR(b)
        case _:
            return None  # how far a shift goes depends on the width of a number, which a column does not keep
    return Operand(result, st.LongType(), Kind.NUMBER)


def _nonzero(divisor: Column) -> Column:
    return sf.when(divisor != 0, divisor)
