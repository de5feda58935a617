"""Random XPaths over random documents: our answer is libxml2's for the text as it was written."""

from __future__ import annotations

from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agvent import limits
from agvent.errors import FilterError
from agvent.event import Event
from agvent.filters.evaluate import evaluate
from agvent.filters.subscription import Subscription
from agvent.filters.tree import Condition, XPath
from agvent.filters.xpath import format_xpath, parse_xpath
from agvent.filters.xpath_evaluate import excess
from agvent.filters.xpath_tokens import OPERATOR_NAMES
from agvent.filters.xpath_tree import FUNCTIONS, NODES
from agvent.matching.encoders.xml_values import number_of
from agvent.matching.subscriptions import Subscriptions
from agvent.xml import CHARS_PER_NODE

CHECKED = settings(max_examples=300, deadline=None)
NAMES = ("a", "b", "c", "div", "m:a", "m:*", "*")
AXES = (
    "", "", "", "", "@", "child::", "descendant::", "descendant-or-self::", "self::", "parent::", "ancestor::",
    "ancestor-or-self::", "following::", "following-sibling :: ", "preceding::", "preceding-sibling::", "attribute::",
    "namespace::",
)  # fmt: skip
SIMPLE = (
    "1",
    "0",
    "1.5",
    ".5",
    "2.",
    "''",
    "'x'",
    '"1"',
    "position()",
    "last()",
    "true()",
    "string()",
    "name()",
    "number()",
)
OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "+", " -", "*", " div ", " mod ", " and ", " or ")
PROLOG = "declare namespace m = 'urn:m'; "


@st.composite
def documents(draw: st.DrawFn, depth: int = 3) -> str:
    """A small document with names, attributes and texts that the XPaths ask for."""
    name = draw(st.sampled_from(("a", "b", "c", "div", "m:a")))
    declared = ' xmlns:m="urn:m"' if depth == 3 else ""
    attributes = "".join(f' {one}="{draw(st.sampled_from("1x2"))}"' for one in draw(st.sets(st.sampled_from("ab"))))
    inner = st.sampled_from(("", "1", "x", "1.5", " 2 ", "<!--c-->", "<?p x?>"))
    if depth:
        inner = st.one_of(inner, documents(depth - 1))
    return f"<{name}{declared}{attributes}>{''.join(draw(st.lists(inner, max_size=3)))}</{name}>"


def _steps(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    tests = st.sampled_from((*NAMES, *NAMES, "node()", "text()", "comment()", "processing-instruction('p')"))
    predicates = st.lists(inner.map(lambda one: f"[{one}]"), max_size=2).map("".join)
    long = st.builds(lambda axis, test, tail: axis + test + tail, st.sampled_from(AXES), tests, predicates)
    return st.one_of(long, long, st.sampled_from((".", "..")))


def _paths(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    separators = st.sampled_from(("/", "/", " / ", "//"))
    more = st.lists(st.tuples(separators, _steps(inner)).map("".join), max_size=2).map("".join)
    starts = st.sampled_from(("", "/", "//"))
    return st.one_of(
        st.tuples(starts, _steps(inner), more).map("".join),
        st.builds(lambda one, two: f"({one} | {two})", _steps(inner), _steps(inner)),
        st.builds(lambda one, test: f"({one})[{test}]", _steps(inner), inner),
    )


def _calls(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def call(name: str, args: list[str], path: str) -> str:
        signature = FUNCTIONS[name]
        count = max(signature.least, min(signature.most, len(args)))
        given_args = [path] * count if signature.nodes else (args * 3)[:count]
        return f"{name}({', '.join(given_args)})"

    names = [name for name, signature in FUNCTIONS.items() if signature.result != NODES]
    return st.builds(call, st.sampled_from(names), st.lists(inner, min_size=1, max_size=3), _paths(inner))


@cache
def xpaths() -> st.SearchStrategy[str]:
    """Texts of XPaths whose types are right."""
    leaves = st.one_of(st.sampled_from(SIMPLE), st.sampled_from(("a", "@b", ".", "//b", "/", "text()")))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            _paths(inner),
            _calls(inner),
            st.builds(lambda left, op, right: f"({left}){op}({right})", inner, st.sampled_from(OPERATORS), inner),
            st.builds(lambda left, op, right: f"({left}){op}{right}", inner, st.sampled_from(OPERATORS), inner),
            inner.map(lambda one: f"-({one})"),
        ),
        max_leaves=6,
    )


@CHECKED
@given(text=xpaths(), xml=documents())
def test_our_answer_is_libxml2s(text: str, xml: str) -> None:
    """Parsing, canonical form and compilation change nothing. Beyond the bound on its work the answer is unknown."""
    condition, event = parse_xpath(PROLOG + text), Event(xml=xml)
    wanted = etree.XPath(f"boolean(self::node()[boolean({text})])", namespaces={"m": "urn:m"})(etree.fromstring(xml))
    assert isinstance(condition, XPath)
    assert evaluate(condition, event) is (wanted if excess(condition, event) is None else None)


def test_a_small_document_can_ask_for_too_much_work() -> None:
    """The bound grows with the size to the power of the texts that are read together."""
    condition = parse_xpath("translate(a, a, a)")
    assert isinstance(condition, XPath)
    small, larger = (Event(xml=f"<a>{'<a></a>' * count}</a>") for count in (1, 400))
    assert [excess(condition, event) is None for event in (small, larger)] == [True, False]
    assert [evaluate(condition, event) for event in (small, larger)] == [False, None]


@CHECKED
@given(text=xpaths())
def test_the_canonical_text_reads_as_the_same_tree(text: str) -> None:
    """format(parse(text)) parses to the same condition, and is its own canonical text."""
    tree = parse_xpath(PROLOG + text)
    assert parse_xpath(format_xpath(tree)) == tree


WORDS = (
    "a", "m:b", "*", "/", "//", ".", "..", "@", "::", "child::", "(", ")", "[", "]", ",", "|", "+", "-", "=", "<", "!=",
    "1", ".5", "'x'", '"', "'", "$", "count(", "text()", "not(", "declare namespace m = 'u';", ";", "é", "\0",
    *OPERATOR_NAMES,
)  # fmt: skip


@CHECKED
@given(words=st.lists(st.sampled_from(WORDS), max_size=10), glue=st.sampled_from(("", " ")))
def test_any_text_is_read_or_refused_with_a_place(words: list[str], glue: str) -> None:
    """Nothing but a FilterError comes out, and what is read can be put to a document."""
    text = glue.join(words)
    read = _read(text)
    if isinstance(read, FilterError):
        assert 0 <= read.position <= len(text)
    else:
        assert evaluate(read, {"$xml": "<a><b>1</b></a>"}) is not None
        assert parse_xpath(format_xpath(read)) == read


def _read(text: str) -> Condition | FilterError:
    try:
        return parse_xpath(text)
    except FilterError as error:
        return error


LARGE_COMMENT = f"<!--{'x' * (limits.XML_SMALL_SIZE_MAX * CHARS_PER_NODE)}-->"


@st.composite
def joined(draw: st.DrawFn) -> str:
    """One such XPath, or a comparison with it, or several."""
    parts = draw(st.lists(common(), min_size=1, max_size=2))
    op = draw(st.sampled_from((" or ", " and ", " | ")))
    if op != " | ":
        parts = [part + draw(st.sampled_from(("", "", " = 'x'", " > 1", " = 1"))) for part in parts]
    return op.join(parts)


@st.composite
def common(draw: st.DrawFn) -> str:
    """XPaths of the form that the index decomposes, and some that it can only narrow."""
    values = st.sampled_from(("b", "b", "c", "c", "@b", ".", "m:a", "b/c", "b/@b"))
    literals = st.sampled_from(("1", "1.5", "'1'", "'x'", "2", "' 2 '", ".5"))
    compared = st.builds(
        lambda left, op, right, swap: f"{right} {op} {left}" if swap else f"{left} {op} {right}",
        values,
        st.sampled_from(("=", "=", "<", "<=", ">", ">=", "!=")),
        literals,
        st.booleans(),
    )
    atoms = st.one_of(
        compared, compared, values, st.sampled_from(("1", "last()", "not(a)", "contains(., 'x')", "a[b]"))
    )
    tests = st.recursive(
        atoms,
        lambda inner: st.builds(lambda a, op, b: f"({a} {op} {b})", inner, st.sampled_from(("and", "or")), inner),
        max_leaves=3,
    )
    path = draw(
        st.sampled_from(
            ("/a", "/a", "/a/b", "/a/b", "b", ".//b", "/a/./b", "//b", "//c", "//a//b", "/*", "//*", "/a/m:a", "/a/*/c")
        )
    )
    path += "".join(f"[{test}]" for test in draw(st.lists(tests, max_size=2)))
    tail = draw(st.sampled_from(("", "", "/b", "/c", "/@b", "/b/c", "//b")))
    return path + tail + "".join(f"[{test}]" for test in draw(st.lists(tests, max_size=1 if tail else 0)))


@st.composite
def menus(draw: st.DrawFn, depth: int = 2) -> str:
    """Documents of few names, so that an element is there once, several times or not at all."""
    name = "a" if depth == 2 else draw(st.sampled_from(("b", "c", "m:a")))
    declared = ' xmlns:m="urn:m"' if depth == 2 else draw(st.sampled_from(("", ' b="1"', ' b="x"')))
    texts = st.sampled_from(("1", "x", "1.5", " 2 ", "<!--c-->1", ""))
    inner = st.one_of(menus(depth - 1), menus(depth - 1), texts) if depth else texts
    return f"<{name}{declared}>{''.join(draw(st.lists(inner, max_size=3)))}</{name}>"


@CHECKED
@given(texts=st.lists(joined(), min_size=4, max_size=12, unique=True), sample=st.lists(menus(), min_size=1, max_size=6))
def test_the_index_equals_the_oracle(texts: list[str], sample: list[str]) -> None:
    """Whether a document has one element of a context or several, a value once or more, or none; small or large."""
    index = Subscriptions(Subscription(id=text, language="xpath", filter=PROLOG + text) for text in texts)
    sample = [*sample, sample[0].removesuffix("</a>") + LARGE_COMMENT + "</a>"]
    wanted = [sorted(t for t in texts if evaluate(parse_xpath(PROLOG + t), {"$xml": xml})) for xml in sample]
    assert [index.match({"$xml": xml}) for xml in sample] == wanted
    assert dict(index.match_batch([{"$xml": xml} for xml in sample]).by_event()) == {
        number: ids for number, ids in enumerate(wanted) if ids
    }


@given(text=st.one_of(st.text("0123456789.-+eE \t\n", max_size=20), st.floats().map(str), st.text(max_size=3)))
def test_numbers_are_read_as_libxml2_reads_them(text: str) -> None:
    """Bit for bit, or the index would answer otherwise than the oracle near a bound."""
    element = etree.Element("a")
    try:
        element.text = text
    except ValueError:  # no XML has such a character
        return
    ours, theirs = number_of(text), etree.XPath("number()")(element)
    assert ours == theirs or (ours != ours and theirs != theirs)
