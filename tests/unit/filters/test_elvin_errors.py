"""What a bad subscription in Elvin's language says: message, place and hint."""

from __future__ import annotations

import pytest

from agvent import limits
from agvent.errors import FilterError
from agvent.filters.elvin import parse_elvin

OPERATOR = "expected an operator or the end, found"
NUMBER_HINT = "write 12, 0x1F, 017, 12L, 7.0 or 7.0e3"
COMPARE_IT = "compare it with something, as in x != 0"
INTEGERS = "bitwise operators are for int32 and int64"
JOIN = "join conditions with &&, ^^ and ||"


def complaint(text: str, known: tuple[str, ...] | None = None) -> tuple[str, int, str | None]:
    with pytest.raises(FilterError) as caught:
        parse_elvin(text, known)
    return caught.value.message, caught.value.position, caught.value.hint


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("", "expected a value, found the end", 0, None),
        ("  ", "expected a value, found the end", 0, None),
        ("a == ", "expected a value, found the end", 4, None),
        ("a == 1 &&", "expected a value, found the end", 9, None),
        ("a = 1", f"{OPERATOR} '='", 2, "Elvin writes =="),
        ("a <> 1", "expected a value, found '>'", 3, "Elvin writes !="),
        ("a == 1 AND b == 1", f"{OPERATOR} 'AND'", 7, "Elvin writes &&"),
        ("a == 1 or b == 1", f"{OPERATOR} 'or'", 7, "Elvin writes ||"),
        ("a == 1 b", f"{OPERATOR} 'b'", 7, None),
        ("(1 > 2) (2 > 1)", f"{OPERATOR} '('", 8, None),
        ("(1 > 2", "expected an operator or ), found the end", 6, None),
        ("a == 1)", f"{OPERATOR} ')'", 6, None),
        ("a[0] == 1", f"{OPERATOR} '['", 1, None),
        ("require(5)", "expected the name of an attribute in require(), found '5'", 8, None),
        ("size('x') == 1", "expected the name of an attribute in size(), found \"'x'\"", 5, None),
        ("int32(size(a))", "expected the name of an attribute in int32(), found 'size'", 6, None),
        ("require(a, b)", "expected ), found ','", 9, None),
        ("contains(a, 'x' 'y')", "expected , or ), found \"'y'\"", 16, None),
        ("--", "expected a value, found the end", 2, None),
    ],
)
def test_a_token_out_of_place(text: str, message: str, position: int, hint: str | None) -> None:
    """The error names what was expected and what stands there, with a hint where one is near."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("a==1", "expected a condition, found a value", 0, "a name goes on to the next blank: write a == …"),
        ("a&&b == 1 && c", "expected a condition, found a value", 13, COMPARE_IT),
        ("field > 3 || 'name'", "expected a condition, found a string", 13, COMPARE_IT),
        ("field > 3 || 42", "expected a condition, found a number", 13, COMPARE_IT),
        ("!a", "expected a condition, found a value", 1, COMPARE_IT),
        ("a == 1 == 2", "expected a value, found a condition", 0, JOIN),
        ("(a == 1) + 2 == 3", "expected a value, found a condition", 0, JOIN),
        ("1 + 'hello' == 1", "expected a number, found a string", 4, "arithmetic is for numbers"),
        ("-'hello' == 1", "expected a number, found a string", 1, "arithmetic is for numbers"),
        ("1.0 << 2 == a", "expected an integer, found a real64", 0, INTEGERS),
        ("1 << 2.0 == a", "expected an integer, found a real64", 5, INTEGERS),
        ("~1.5 == a", "expected an integer, found a real64", 1, INTEGERS),
        ("5 > 'name'", "a string has no order", 4, "strings compare with == and != only"),
        ("fold-case(a) < b", "a string has no order", 0, "strings compare with == and != only"),
        ("5 == 'name'", "a number never compares with a string", 5, None),
        ("equals('hello', 'there', 1)", "a string never compares with a number", 25, None),
        ("begins-with(a, 1)", "expected a string in quotes in begins-with()", 15, None),
        ("contains(a, b)", "expected a string in quotes in contains()", 12, None),
        ("fold-case(1) == 'x'", "expected a string, found a number", 10, None),
        ("wildcard(a)", "wildcard() takes at least 2 arguments, found 1", 0, None),
        ("equals(a)", "equals() takes at least 2 arguments, found 1", 0, None),
        ("decompose(a, b) == 'x'", "decompose() takes 1 argument, found 2", 0, None),
    ],
)
def test_what_does_not_fit_together(text: str, message: str, position: int, hint: str | None) -> None:
    """A value is no condition, a string no number, a real64 no integer."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("a == 'x", "a string without its closing quote", 5, r"write \' for a quote inside a string"),
        ('a == "x', "a string without its closing quote", 5, r"write \" for a quote inside a string"),
        (r"a == 'x\'", "a string without its closing quote", 5, r"write \' for a quote inside a string"),
        ("a == \\", "a backslash with nothing after it", 5, None),
        ("a == 0.", "'0.' is not a number", 5, NUMBER_HINT),
        ("a == 1e5", "'1e5' is not a number", 5, NUMBER_HINT),
        ("a == 0.1e", "'0.1e' is not a number", 5, NUMBER_HINT),
        ("a == 0.1f", "'0.1f' is not a number", 5, NUMBER_HINT),
        ("a == 08", "'08' is not a number", 5, NUMBER_HINT),
        ("a == 0x", "'0x' is not a number", 5, NUMBER_HINT),
        ("a == 2147483648", "2147483648 does not fit in 32 bits", 5, "write 2147483648L"),
        ("a == 0xFFFFFFFF", "0xFFFFFFFF does not fit in 32 bits", 5, "write 0xFFFFFFFFL"),
        ("a == 9223372036854775808L", "9223372036854775808L does not fit in 64 bits", 5, None),
        ("a == " + "9" * 5000, "9" * 40 + " does not fit in 64 bits", 5, None),
        ("a == 1.0e999", "1.0e999 is beyond the largest real64", 5, None),
        ("regex(a, 'x', '(a')", "the regular expression does not compile: missing ): (a", 14, "the dialect is RE2's"),
    ],
)
def test_literals(text: str, message: str, position: int, hint: str | None) -> None:
    """A literal that is none says why."""
    assert complaint(text) == (message, position, hint)


@pytest.mark.parametrize(
    ("text", "message", "position", "hint"),
    [
        ("pric > 1", "unknown attribute 'pric'", 0, "did you mean 'price'?"),
        ("price>1 == 2", "unknown attribute 'price>1'", 0, "did you mean 'price'?"),
        ("require(volum)", "unknown attribute 'volum'", 8, "did you mean 'volume'?"),
        ("begin-with(price, 'x')", "unknown function 'begin-with'", 0, "did you mean 'begins-with'?"),
        ("exists(price)", "unknown function 'exists'", 0, "Elvin has require"),
        ("foobar(price, 'x')", "unknown function 'foobar'", 0, None),
        (r"\$topi == 'x'", "unknown header '$topi'", 0, "did you mean '$topic'?"),
    ],
)
def test_names(text: str, message: str, position: int, hint: str | None) -> None:
    """A name that is not known comes with the nearest that is."""
    assert complaint(text, ("price", "volume")) == (message, position, hint)


def test_headers_are_always_known() -> None:
    """The event's own headers need not be in `known`."""
    parse_elvin(r"\$topic == 'x' && price > 1", ("price",))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 200 + "a == 1" + ")" * 200,
        "!" * 200 + "require(a)",
        "-" * 200 + "a == 1",
        "~" * 200 + "a == 1",
        "a == " + "a + " * 200 + "a",
        "a == " + "fold-case(" * 200 + "a" + ")" * 200,
        "a == " + "-(" * 70 + "1" + ")" * 70,
    ],
)
def test_depth_is_bounded(text: str) -> None:
    """What nests too deep is refused where reading stopped, before Python's own limit."""
    message, _, _ = complaint(text)
    assert message == f"the filter nests deeper than {limits.FILTER_DEPTH_MAX} levels"


def test_a_part_of_a_wildcard_is_bounded() -> None:
    """Told at the pattern; without a `?`, or at an end of the pattern, it may be longer."""
    message = "a part of the pattern has 300 characters and a wildcard for one character, at most 256 are allowed"
    assert complaint(f"wildcard(a, 'x', '*?{'a' * 299}*')") == (message, 17, None)
    for pattern in (f"*{'a' * 300}*", f"{'?' * 300}*", f"*{'?' * 300}"):
        parse_elvin(f"wildcard(a, '{pattern}')")


def test_predicates_are_bounded() -> None:
    """The arguments of a string predicate count one by one."""
    texts = ", ".join(["'x'"] * (limits.FILTER_PREDICATES_MAX + 1))
    message, _, _ = complaint(f"contains(a, {texts})")
    assert message == f"the filter has {limits.FILTER_PREDICATES_MAX + 1} predicates, at most 4096 are allowed"


def test_equals_is_bounded_as_if_it_were_written_out() -> None:
    """Each value repeats the first argument: a long one with many values would give a text of any length."""
    message, position, _ = complaint(f"equals({'a' * 1000}, {', '.join(['1'] * 66)})")
    assert (message, position) == ("equals() written out has more than 65536 characters", 7)
    parse_elvin(f"equals({'a' * 1000}, {', '.join(['1'] * 60)})")


def test_length_is_bounded() -> None:
    """A text that is too long is not read."""
    message, position, _ = complaint("a == 1" + " " * limits.FILTER_CHARS_MAX)
    assert (message, position) == ("the filter has 65542 characters, at most 65536 are allowed", 65536)


def test_a_long_chain_is_no_depth() -> None:
    """Joined conditions are one level, however many."""
    parse_elvin(" && ".join(["a == 1"] * 4000))
    parse_elvin(" ^^ ".join(["a == 1"] * 4000))
