"""XML documents: what is read, what is refused, and within which bounds."""

from __future__ import annotations

import contextlib
import time

import pytest

from agvent import limits
from agvent.errors import EventError
from agvent.event import Event, event_of
from agvent.event_json import decode_event
from agvent.xml import document

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BILLION_LAUGHS = f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">{LAUGHS}]><l a="&l9;">&l9;</l>'


def refused(text: str) -> str:
    """The message with which a text is refused, the same wherever an event is made."""
    with pytest.raises(EventError) as caught:
        document(text)
    with pytest.raises(EventError) as in_event:
        Event(xml=text)
    with pytest.raises(EventError) as in_mapping:
        event_of({"$xml": text})
    assert in_event.value.message == in_mapping.value.message == caught.value.message
    return caught.value.message


def test_the_seeds_document_is_read_whatever_encoding_it_names() -> None:
    """The text is Unicode already: the declaration's encoding is not looked at (Narada fig. 10)."""
    read = document('<?xml version="1.0" encoding="ISO-8859-1"?>\n<menu><brand>Café</brand></menu>')
    assert (read.root.tag, read.root[0].text) == ("menu", "Café")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "$xml is not well-formed, line 1, column 1: Document is empty"),
        (
            "<a>\n<b></a>",
            "$xml is not well-formed, line 2, column 8: Opening and ending tag mismatch: b line 2 and a",
        ),
        ("<a/><b/>", "$xml is not well-formed, line 1, column 5: Extra content at the end of the document"),
        ("<a>&e;</a>", "$xml is not well-formed, line 1, column 7: Entity 'e' not defined"),
        ("<m:a/>", "$xml is not well-formed, line 1, column 5: Namespace prefix m on a is not defined"),
        ("<!DOCTYPE a><a/>", "$xml has a DOCTYPE, which is rejected"),
        ("\ufeff<?xml version='1.0'?> <!-- x --><?p?>\n<!DOCTYPE a><a/>", "$xml has a DOCTYPE, which is rejected"),
        (BILLION_LAUGHS, "$xml has a DOCTYPE, which is rejected"),
        ('<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x"><a/>', "$xml has a DOCTYPE, which is rejected"),
    ],
)
def test_what_is_no_document_is_refused(text: str, message: str) -> None:
    """The error says where and why; a DOCTYPE is refused before anything is parsed."""
    assert refused(text) == message


def test_the_word_doctype_may_stand_where_it_declares_nothing() -> None:
    """In a comment, a CDATA section or text it is no declaration."""
    assert document("<!-- <!DOCTYPE a> --><a><![CDATA[<!DOCTYPE a>]]></a>").root.text == "<!DOCTYPE a>"


def test_depth_has_a_bound() -> None:
    """As deep as the bound is read, one deeper is refused."""
    most = limits.XML_DEPTH_MAX
    assert document("<a>" * most + "</a>" * most).depth == most + 2
    assert "nested deeper than 256 levels" in refused("<a>" * (most + 1) + "</a>" * (most + 1))


def test_size_has_bounds() -> None:
    """Bytes, and the signs that begin tags and attributes, are counted before anything is made of them."""
    many = limits.XML_MARKS_MAX // 2
    assert refused("<a>" + "x" * limits.XML_BYTES_MAX + "</a>") == (
        f"$xml has {limits.XML_BYTES_MAX + 7} bytes, at most {limits.XML_BYTES_MAX} are read"
    )
    assert refused("<a>" + "<b/>" * 2 * many + "</a>") == (
        f"$xml has {2 * many + 2} < and = signs, at most {2 * many} are read"
    )
    attributes = " ".join(f'a{n}="1"' for n in range(2 * many))
    assert refused(f"<a {attributes}/>") == f"$xml has {2 * many + 1} < and = signs, at most {2 * many} are read"


@pytest.mark.parametrize(
    "text",
    [
        "<a>" + "x" * (limits.XML_BYTES_MAX - 7) + "</a>",
        "<a " + " ".join(f'a{n}="1"' for n in range(limits.XML_MARKS_MAX - 1)) + "/>",
        "<a>" + "<b/>" * (limits.XML_MARKS_MAX - 2) + "</a>",
    ],
    ids=["text", "attributes", "elements"],
)
def test_the_largest_documents_take_a_bounded_time(text: str) -> None:
    """Seconds are far above what it takes, and far below what an attack needs."""
    started = time.perf_counter()
    with contextlib.suppress(EventError):  # libxml2 has bounds of its own, on one text and one tag
        document(text)
    assert time.perf_counter() - started < 5


def test_size_bounds_the_nodes() -> None:
    """Elements, attributes, texts and the document are at most `size`; long text counts too."""
    read = document('<a b="1" c="2">x<d/>y<!-- z --></a>')
    assert read.size >= 1 + 2 + 2 + 2 + 1
    assert document(f"<a>{'x' * 6400}</a>").size - document("<a>x</a>").size == 100


def test_a_json_line_with_bad_xml_is_no_event() -> None:
    """`decode_event` refuses it, whether or not anybody asks for the XML."""
    with pytest.raises(EventError) as caught:
        decode_event(b'{"$xml": "<a>"}')
    assert caught.value.message.startswith("$xml is not well-formed, line 1, column 4")
