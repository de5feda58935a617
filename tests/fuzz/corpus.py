"""Good inputs, from which the mutations start: every construct of a language stands in one of them."""

from __future__ import annotations

from typing import Final

FILTERS: Final[dict[str, tuple[str, ...]]] = {
    "sql": (
        "price > 10 AND city = 'Oslo'",
        "symbol = 'IBM' AND price BETWEEN 10.5 AND 99 AND volume >= 1000",
        "NOT (a = 1 OR b <> 2.5) AND c IS NOT NULL",
        "name LIKE 'it''s%_!%' ESCAPE '!' OR name NOT LIKE '%x'",
        "country IN ('UK', 'US', 'France') AND n NOT IN (1, -2, 0x1F, 017, 3L)",
        "price * 2 + 1 > -volume / 3 - (a + b) * c",
        "open AND NOT halted OR TRUE AND FALSE = closed",
        "t > TIMESTAMP '2002-01-01T00:00:00Z' AND $time <= TIMESTAMP '2026-03-01'",
        'order.lines[0]."unit price" < 7. AND "two words" = \'a\' AND o.x IS NULL',
        "$topic = 'Sports/NBA' AND $type = 'Book' AND $channel = 42",
        "contains(tags, 'a') AND starts_with(name, 'I') AND ends_with(lower(name), 'm') AND size(tags) >= 2",
        "regex(name, '^[a-z]+(b|c)*$') OR is_text(name)",
        "n = 9223372036854775807 OR n = -9223372036854775808 OR n > 9007199254740993 OR x < 1e300",
        "a NOT BETWEEN 1 AND b AND (a = 1 OR a = 2) AND (b = 'x' OR b = 'y') AND NOT (c = 1 AND d = 2)",
    ),
    "elvin": (
        'require(user) && begins-with(user, "al", "bo") && !(age <= 20)',
        "a == 1 || b != 2.5 ^^ c >= 3L && d < -4",
        "(a + b * 2 - 1) / 3 % 4 == 0 && -price <= 7.0e3",
        "a & 0x1F | b ^ 017 == ~c && a << 2 >> 1 >>> 3 > 0L",
        "int32(n) || int64(n) && real64(price) || string(city) && opaque(data) || nan(price)",
        'contains(city, "Os", "lo") && ends-with(city, "o") && wildcard(city, "O*l?") && regex(city, "^O[a-z]+$")',
        'equals(city, "Oslo", "Bergen") && equals(n, 1, 2L, 3.0) && fold-case(city) == "oslo"',
        'equals(decompose(city), "Oslo") || fold-case(decompose(name)) == "it\'s"',
        "size(city) > 3 && size(data) == 2 && !(size(name) != 4)",
        r"""two\ words == 'it\'s' && a-b == "q\"" && \1st == 2""",
        'n == 9223372036854775807L || n == -9223372036854775808L || price > 1.7e308 || "Os" == city',
    ),
    "xpath": (
        "/menu/softdrinks[price > 1.80]",
        "//softdrinks[year = 2003]/price[. < 3] | //price[@currency = 'NOK']",
        "/menu/*[brand = 'Minute Maid' and not(price > 5)]/@id",
        "declare namespace m = 'urn:menu'; declare namespace n = \"it's\"; //m:item[n:*]/@m:id = 7",
        "count(//item) > 2 and sum(//price) div count(//price) >= 1.5 or -1 mod 2 = 0",
        "(//softdrinks/*)[3][self::source] | id('x')/.. | ../menu//text()",
        "//price[1]/following-sibling::*[last()]/ancestor::*[position() = 2]/preceding::node()",
        "concat(substring-before(//brand, ' '), substring(//brand, 2, 3), translate(//brand, 'ab', 'AB')) != ''",
        "starts-with(normalize-space(//brand), 'M') and contains(name(/*), 'en') and string-length(//year) = 4",
        "number(//price) + 1 * 2 - .5 < ceiling(//year) and boolean(floor(1.5)) and round(2.5) = 3",
        "//comment() | //processing-instruction('go') | descendant-or-self::node()/attribute::*[. = 'x']",
        "//*[local-name() = 'item'][namespace-uri() = 'urn:menu'] and lang('en') and true() and not(false())",
        "//item[item/item[@id = ../@id]]/parent::item and namespace::* and string(.) = 'x'",
        "/a/b[c][2]/d//e = /a//é",
    ),
    "tags": (
        "Make=Ford,Model=*,Color=Red",
        "a=1,b=-2.5,c=true,d=FALSE,e=1e3",
        r"name=a\,b\=c\*d\\e, two words = three words ",
        "$topic=Sports/NBA,$type=Book,é=日本",
        "n=9223372036854775807,empty=",
    ),
    "topic": ("Sports/NBA", "a", "/", "a//b/", "é/日本/😀", "42"),
    "pattern": ("Sports/#", "+/NBA", "#", "a/+/c", "+/+/#", "/+", "Sports/NBA"),
    "integer": ("42", "-7", "+3", "0", "9223372036854775807", "-9223372036854775808"),
    "channel": ("news", "42", "-1", "007", "9223372036854775807", "é"),
}
"""A language's good filters; each is a target of its own."""

COMPARISON: Final = r"""[\w.$@-]+ (?:==|!=|<=|>=|<>|=|<|>) (?:'[^']*'|"[^"]*"|-?[\w.]+)"""
GROUP: Final = r"\w*\([^()]*\)"
QUOTED: Final = r"'[^']*'|\"[^\"]*\""

PARTS: Final[dict[str, tuple[str, ...]]] = {
    "sql": (COMPARISON, GROUP, QUOTED),
    "elvin": (COMPARISON, r"[\w-]*\([^()]*\)", QUOTED, r" (?:&&|\|\||\^\^) ", r" (?:[-+*/%&|^]|<<|>>|>>>) "),
    "xpath": (
        COMPARISON,
        r"[\w-]*\([^()]*\)",
        QUOTED,
        r"\[[^\[\]]*\]",
        r"//?(?:[a-z-]+::)?@?[\w:*-]+",
        r"[a-z-]+::[\w*]+(?:\(\))?",
        r" (?:and|or|\||=|!=|<|>|div|mod|[-+*]) ",
    ),
    "tags": (r"\w+=[^,]*", r",[^,]*"),
}
"""What the constructs of a language look like, for the mutations that exchange them."""

BRACKETS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "elvin": (("(", ")"), ("!(", ")"), ("a && (", ")"), ("-(", ")"), ("size(", ")"), ("fold-case(", ")"), ('"', '"')),
    "xpath": (("(", ")"), ("not(", ")"), ("a[", "]"), ("//*[", "]"), ("count(", ")"), ("-(", ")"), ("a or (", ")")),
}

SHAPES: Final = (
    "symbol = 'IBM' AND price BETWEEN 10.5 AND 99",
    "symbol = 'it''s' AND volume > -5",
    "price > 3 AND price <= 7 AND NOT volume < 2",
    "(symbol = 'a' OR symbol = 'b') AND change NOT BETWEEN -1 AND 1.5",
    "symbol IN ('a', 'b', 'a') AND exchange NOT IN ('x', 'y')",
    "halted IS NULL AND price <> 4 AND 1 < price",
    "(volume > 990000 OR change BETWEEN 9.5 AND 10) AND symbol = 'a'",
    "\"two words\" > 5 AND n IN (1, 2.5, -3) AND NOT (name = 'né' OR o.x >= 0)",
)
"""Filters that are read by their shape."""

EVENTS: Final = (
    b'{"symbol": "IBM", "price": 12.5, "volume": 1000, "change": -0.5, "open": true, "note": null}',
    b'{"$topic":"Sports/NBA","$type":["Book","Item"],"$channel":42,"$time":"2026-03-01T12:00:00.25+01:00","a":1}',
    b'{"a":{"$timestamp":"2026-03-01T12:00:00Z"},"b":{"c":{"a":{"$bytes":"AAEC"}}},"list":["x",1,true,null,[2],{}]}',
    b'{"a":-9223372036854775808,"b":9223372036854775807,"list":[1.7976931348623157e308,5e-324,1e23,-0.0]}',
    '{"é":"日本 \\u00e9 \\ud83d\\ude00 \\"q\\" \\\\ \\/ \\b\\f\\n\\r\\t","b":{"c":"É"},"a":"ẞ"}'.encode(),
    b' { "items" : [ { "a" : false } , { "a" : "X" } ] , "a" : 0.1 , "a" : 2 , "$xml" : "<a/>" } \t\r',
    b'{"$xml":"<menu xmlns:m=\\"urn:menu\\"><item id=\\"x\\">&lt;\\u00e9<![CDATA[<!DOCTYPE]]></item></menu>","a":1}',
    b'{"a":"","b":{},"list":[],"items":[[],{}],"$topic":null,"$channel":"news","$type":"Book"}',
    b"{}",
)

DOCUMENTS: Final = (
    "<menu><softdrinks><brand>Minute Maid</brand><price>2.90</price><source/><year>2003</year></softdrinks></menu>",
    """<?xml version="1.0" encoding="ISO-8859-1"?>\n<!-- menu --><?go on?>
    <menu xml:lang="en"><softdrinks id="x"><brand/><price currency="NOK">31.5</price></softdrinks>tail
    <softdrinks/></menu><!-- end -->""",
    '<m:menu xmlns:m="urn:menu" xmlns="it&apos;s"><m:item m:id="7"><a/></m:item><item xmlns="" id="7"/></m:menu>',
    "<a><b><c/></b><b><c>1</c><d><e>x</e></d></b><é>x</é><b x='1' y=\"2\"/></a>",
    "<item id='1'><item id='2'><item id='1'>x</item></item><item xml:id='x'>2</item></item>",
    "<a><![CDATA[<!DOCTYPE x [ ]> & ]]>&lt;&amp;&#65;&#x1F600;&quot;<?go?><!-- <!DOCTYPE --></a>",
    "<a>" + "<item><price>1.80</price><year>2003</year></item>" * 20 + "</a>",
    "<a>" * 60 + "x" + "</a>" * 60,
)
"""XML documents with the names that the XPaths ask for."""

DOCUMENT_PARTS: Final = (
    r"<([\w:.-]+)(?:\s[^<>]*)?(?:/>|>[^<]*</\1\s*>)",
    r"""\s[\w:.-]+=(?:"[^"<]*"|'[^'<]*')""",
    r"(?<=>)[^<>]+(?=<)",
    r"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|&[#\w]+;",
    r"<[\w:.-]+(?=[\s>])",
)
DOCUMENT_BRACKETS: Final = (
    ("<a>", "</a>"), ('<item id="x">', "</item>"), ("<b ", "/>"), ("<!--", "-->"), ("<![CDATA[", "]]>"),
    ("<?go ", "?>"), ("<!DOCTYPE a [", "]>"), ('<a xmlns="', '"/>'), ("&#", ";"), ("&", ";"),
)  # fmt: skip

NOTIFICATIONS: Final = (
    "{'Age': ('int32', 42), 'Pay': ('int64', -9000000000), 'Share': ('real64', 2.5)}",
    "{'Name': ('string', 'Ann é 日本'), 'Key': ('opaque', b'\\x00\\xff'), 'Huge': ('real64', 1e999)}",
    "{'least': ('int32', -2147483648), 'most': ('int64', 9223372036854775807), '': ('string', '')}",
    "{'a.b': ('opaque', b''), 'two words': ('real64', -0.0)}",
)
"""Elvin notifications, as Python writes a dictionary of a type and a value for each name."""

NOTIFICATION_PARTS: Final = (r"\('\w+', [^()]*\)", r"'[^']*': \('\w+', [^()]*\),?", QUOTED)

VALUES: Final = (
    '{"a":1,"b":[1.5,null,true,"x"],"c":{"$int32":5},"d":{"$float":"nan"}}',
    '{"t":{"$timestamp":"2026-03-01T12:00:00+00:00"},"y":{"$bytes":"AAEC"},"o":{"$object":{"$bytes":"no"}}}',
    '{"deep":{"a":{"b":[{"$float":"-inf"},{"x":9223372036854775807}]}}}',
    "{}",
)
"""JSON of values, as the event log has it."""

SUBSCRIPTIONS: Final = (
    b'{"id": "s1", "language": "sql", "filter": "price > 10 AND city = \'Oslo\'"}',
    b'{"id":"s2","filter":"size(tags) > 1","type":"Book","topic":"Sports/NBA"}',
    b'{"id":"s3","language":"tags","filter":"Make=Ford,Model=*","channel":42,"note":"mine"}',
    b'{"id":"s4","language":"pattern","filter":"Sports/#","context":{"age":[1,2.5,null,{"deep":true}]}}',
    '{"id":"é 😀","language":"topic","filter":"日本","pattern":"a/+/#"}'.encode(),
    b'{"id":"s5","language":"integer","filter":"-7","topic":9223372036854775807}',
    b'{"id":"s7","language":"elvin","filter":"require(user) && age > 20L"}',
    b'{"id":"s8","language":"xpath","filter":"//price[. > 1.80]","type":"Menu"}',
    b'{"id":"s6","language":"channel","filter":"news","channel":"news","pattern":null}',
)
