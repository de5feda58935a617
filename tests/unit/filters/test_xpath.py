"""XPath 1.0 as text and tree: the grammar, the canonical form, and what is refused."""

from __future__ import annotations

import pytest

from agvent.errors import FilterError, TranslationError
from agvent.filters.evaluate import evaluate
from agvent.filters.languages import format_filter, parse
from agvent.filters.subscription import Subscription
from agvent.filters.tree import And, IsA, XPath
from agvent.filters.xpath import AXES, expression_of, format_xpath, parse_xpath
from agvent.filters.xpath_tree import (
    DESCEND,
    FUNCTIONS,
    ROOT,
    Binary,
    Expression,
    Filtered,
    LocationPath,
    LocationStep,
    NameTest,
    Number,
    Text,
    XPathJoined,
    XPathNegative,
)


def read(text: str) -> Expression:
    condition = parse_xpath(text)
    assert isinstance(condition, XPath)
    return expression_of(condition)


def child(name: str, *predicates: Expression) -> LocationStep:
    return LocationStep("child", NameTest(None, name), predicates)


A = LocationPath(None, (child("a"),))
B = LocationPath(None, (child("b"),))
C = LocationPath(None, (child("c"),))


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("/", LocationPath(ROOT, ())),
        ("/a//b", LocationPath(ROOT, (child("a"), DESCEND, child("b")))),
        ("//a", LocationPath(ROOT, (DESCEND, child("a")))),
        ("a[1]/b", LocationPath(None, (child("a", Number("1")), child("b")))),
        ("a or b and c", XPathJoined("or", (A, XPathJoined("and", (B, C))))),
        ("a and b and c", XPathJoined("and", (A, B, C))),
        ("a = b != c", Binary("!=", Binary("=", A, B), C)),
        ("a - b - c", Binary("-", Binary("-", A, B), C)),
        ("a - (b - c)", Binary("-", A, Binary("-", B, C))),
        ("a + b * c", Binary("+", A, Binary("*", B, C))),
        ("a<b=c", Binary("=", Binary("<", A, B), C)),
        ("-a | b", XPathNegative(XPathJoined("|", (A, B)))),
        ("--1", XPathNegative(XPathNegative(Number("1")))),
        ("(a | b)[2]/c", LocationPath(Filtered(XPathJoined("|", (A, B)), (Number("2"),)), (child("c"),))),
        ("(a)//c", LocationPath(A, (DESCEND, child("c")))),
        ("'it' = \"it's\"", Binary("=", Text("it"), Text("it's"))),
    ],
)
def test_grammar(text: str, tree: Expression) -> None:
    """Precedence and association are those of XPath 1.0 §3; abbreviations stand for the steps of §2.5."""
    assert read(text) == tree


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("/menu/softdrinks[price>1.80]", "/menu/softdrinks[price > 1.80]"),
        ("child::a/attribute::b", "a/@b"),
        ("self::node()/parent::node()", "./.."),
        ("/descendant-or-self::node()/child::a", "//a"),
        ("descendant-or-self::node()/a", "descendant-or-self::node()/a"),
        ("//descendant-or-self::node()", "//descendant-or-self::node()"),
        ("* * *", "* * *"),
        ("div div mod mod and", "div div mod mod and"),
        ("a-b - c", "a-b - c"),
        ("(/) * 2", "(/) * 2"),
        ("((a))", "a"),
        ("(a or b) or c", "a or b or c"),
        ("a or (b or c)", "a or (b or c)"),
        ("( a [ 1 ] ) [ 2 ]", "(a[1])[2]"),
        ("processing-instruction( 'x' )|text()|comment()", "processing-instruction('x') | text() | comment()"),
        ("ancestor-or-self::*[@a][2]", "ancestor-or-self::*[@a][2]"),
        (".5 + 5. + 05", ".5 + 5. + 05"),
        ("concat('a',\"b\",'\"')", "concat('a', 'b', '\"')"),
        ("id('x')[1]/..", "id('x')[1]/.."),
        ("a\n[\tb\r]", "a[b]"),
        ("é/日本", "é/日本"),
        ("xml:lang", "xml:lang"),
        ("declare namespace m='u:1';declare namespace n = \"it's\" ; //m:a[n:*]",
         "declare namespace m = 'u:1'; declare namespace n = \"it's\"; //m:a[n:*]"),
        ("declare", "declare"),
    ],
)  # fmt: skip
def test_canonical_text(text: str, canonical: str) -> None:
    """A filter has one text; reading it again gives the same tree."""
    tree = parse_xpath(text)
    assert format_xpath(tree) == canonical
    assert parse_xpath(canonical) == tree


def test_every_axis_and_function_is_read() -> None:
    """All thirteen axes and the whole core library."""
    assert len(AXES) == 13
    for axis in AXES:
        assert isinstance(read(f"{axis}::node()"), LocationPath)
    assert len(FUNCTIONS) == 27
    for name, signature in FUNCTIONS.items():
        for count in {signature.least, min(signature.most, 3)}:
            read(f"{name}({', '.join(['a'] * count)})")


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "expected an XPath, found nothing", None),
        ("a[", 3, "expected a step: a name, *, @name, . or .., found the end", None),
        ("a[b", 4, "expected an operator or ']', found the end", None),
        ("(a", 3, "expected an operator or ')', found the end", None),
        ("a b", 3, "expected an operator or the end, found 'b'", None),
        ("a == b", 4, "expected a step: a name, *, @name, . or .., found '='", "XPath writes ="),
        ("a <> b", 4, "expected a step: a name, *, @name, . or .., found '>'", "XPath writes !="),
        ("a && b", 3, "expected an operator or the end, found '&'", "XPath writes and"),
        ("a || b", 4, "expected a step: a name, *, @name, . or .., found '|'", "XPath writes or"),
        ("!a", 1, "expected a step: a name, *, @name, . or .., found '!'", "XPath writes not(…)"),
        ("//", 3, "expected a step: a name, *, @name, . or .., found the end", None),
        (".[1]", 2, "expected an operator or the end, found '['", None),
        ("a/'x'", 3, "expected a step: a name, *, @name, . or .., found \"'x'\"", None),
        ("'x", 1, "a string without its closing quote", "no string holds both kinds of quotes"),
        ("1e3", 2, "expected an operator or the end, found 'e3'", None),
        ("$x", 1, "XPath filters have no variables", "write the value itself"),
        ("strng(a)", 1, "there is no function strng()", "did you mean 'string'?"),
        ("matches(a, 'x')", 1, "there is no function matches()", "the functions are those of XPath 1.0"),
        ("count()", 1, "count() takes 1 argument", None),
        ("concat('a')", 1, "concat() takes 2 or more arguments", None),
        ("substring('a')", 1, "substring() takes 2 or 3 arguments", None),
        ("true(1)", 1, "true() takes no arguments", None),
        ("concat(a,)", 10, "expected a step: a name, *, @name, . or .., found ')'", None),
        ("count(1)", 7, "expected a node-set, found a number", None),
        ("a | 'x'", 5, "expected a node-set, found a string", None),
        ("(a = b)[1]", 1, "expected a node-set, found a boolean", None),
        ("string(a)/b", 1, "expected a node-set, found a string", None),
        ("a/count(b)", 3, "count() is not a node test", "functions stand before a path, not in it"),
        ("a/nod()", 3, "nod() is not a node test", "did you mean 'node'?"),
        ("childs::a", 1, "there is no axis childs::", "did you mean 'child'?"),
        ("m:a", 1, "the prefix 'm' is not declared", 'write declare namespace m = "…"; before the path'),
        ("declare namespace m = 'u' m:a", 27, "expected ';' after the declaration", None),
        ("declare namespace m = ''; m:a", 23, "a namespace cannot be empty", "a plain name has none"),
        ("declare namespace xml = 'u'; a", 19, "the prefix 'xml' cannot be declared", None),
        ("declare namespace m = 'u'; declare namespace m = 'v'; a", 46, "the prefix 'm' is declared twice", None),
        ("declare default element namespace 'u'; a", 1, "expected the declaration of a namespace",
         'write declare namespace m = "http://example.com/menu"; before the path'),
        ("a/ſ", 3, "'ſ' has a letter that libxml2's XPath does not read in names",
         "write *[local-name() = '…'] instead"),
        ("a[\x01]", 3, "U+0001 is not a character of XML", None),
    ],
)  # fmt: skip
def test_mistakes(text: str, column: int, message: str, hint: str | None) -> None:
    """The place, what was expected, and a hint where there is one."""
    with pytest.raises(FilterError) as caught:
        parse_xpath(text)
    assert (caught.value.column, caught.value.message, caught.value.hint) == (column, message, hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 70 + "a" + ")" * 70, None),
        ("(" * 1000 + "a" + ")" * 1000, "the filter nests deeper than 64 levels"),
        ("a[" * 40 + "a" + "]" * 40, "the filter nests deeper than 64 levels"),
        ("not(" * 200 + "a" + ")" * 200, "the filter nests deeper than 64 levels"),
        ("-" * 30_000 + "1", "the filter nests deeper than 64 levels"),
        ("1" + "+1" * 100, "the filter nests deeper than 64 levels"),
        (" or ".join(["a"] * 2_000), None),
        ("/".join(["a"] * 4_000), None),
        (" or ".join(["a"] * 2_100), "the XPath has 4201 parts, at most 4096 are allowed"),
        ("//".join(["a"] * 2_100), "the XPath has 4200 parts, at most 4096 are allowed"),
        ("a" * 65_537, "the filter has 65537 characters, at most 65536 are allowed"),
    ],
)
def test_bounds(text: str, message: str | None) -> None:
    """Depth, parts and characters have bounds; what is within them is compiled too."""
    if message is None:
        assert parse_xpath(text) == parse_xpath(format_xpath(parse_xpath(text)))
        assert evaluate(parse_xpath(text), {"$xml": "<a/>"}) is False
        return
    with pytest.raises(FilterError) as caught:
        parse_xpath(text)
    assert caught.value.message == message


def test_a_subscription_may_have_a_type_beside_its_xpath() -> None:
    """The filter is one part of the condition."""
    tree = Subscription(id="s", language="xpath", type="Menu", filter="//a").condition()
    assert tree == And((IsA("Menu"), XPath("//a")))


def test_other_languages_have_no_words_for_it() -> None:
    """Neither SQL for XPath nor XPath for SQL."""
    with pytest.raises(TranslationError) as caught:
        format_filter(parse("//a", "xpath"), "sql")
    assert caught.value.message == "SQL cannot express XPath XPath(expression='//a', namespaces=())"
    with pytest.raises(TranslationError) as caught:
        format_filter(parse("a = 1"), "xpath")
    assert caught.value.message.startswith("XPath cannot express Compare")
