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
    b'{"a":"","b":{},"list":[],"items":[[],{}],"$topic":null,"$channel":"news","$type":"Book"}',
    b"{}",
)

SUBSCRIPTIONS: Final = (
    b'{"id": "s1", "language": "sql", "filter": "price > 10 AND city = \'Oslo\'"}',
    b'{"id":"s2","filter":"size(tags) > 1","type":"Book","topic":"Sports/NBA"}',
    b'{"id":"s3","language":"tags","filter":"Make=Ford,Model=*","channel":42,"note":"mine"}',
    b'{"id":"s4","language":"pattern","filter":"Sports/#","context":{"age":[1,2.5,null,{"deep":true}]}}',
    '{"id":"é 😀","language":"topic","filter":"日本","pattern":"a/+/#"}'.encode(),
    b'{"id":"s5","language":"integer","filter":"-7","topic":9223372036854775807}',
    b'{"id":"s6","language":"channel","filter":"news","channel":"news","pattern":null}',
)
