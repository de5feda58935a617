"""Every bound, with its unit and the reason for that number. Units and bounds stand last in a name."""

from __future__ import annotations

from typing import Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
"""Integers are 64-bit: what Arrow, Parquet and every peer's wire format carry exactly."""

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
"""Elvin's smaller integers."""

FLOAT_EXACT_MAX: Final = 2**53
"""Integers up to here are exact as float64, the number the index compares; beyond it a match is verified."""

FILTER_CHARS_MAX: Final = 65_536
"""A filter's text. The longest hand-written selectors we found have 4 thousand characters."""

FILTER_DEPTH_MAX: Final = 64
"""Nesting of a filter's tree: far below Python's recursion limit in every walk we do."""

FILTER_PREDICATES_MAX: Final = 4_096
"""Comparisons in one filter, list members included: one subscription may not cost like a thousand."""

REGEX_PROGRAM_BYTES_MAX: Final = 1 << 20
"""Memory RE2 may use for one compiled expression."""

PATTERN_PART_CHARS_MAX: Final = 256
"""What stands between two `%` of a LIKE pattern, if it has a `_` in it: such a part is tried at each place of a text,
so this times the text is what it can cost."""

DISJUNCTS_MAX: Final = 16
"""Rows one filter may become in the index; an OR beyond it is verified instead of expanded."""

ACCESS_KEYS_MAX: Final = 1_024
"""Hash keys one row may be filed under, the members of its IN: a long watch list still is found by its members, at 28
bytes and its other predicates each; a longer one is verified instead."""

EVENT_DEPTH_MAX: Final = 32
"""Nesting of objects and lists in an event."""

EVENT_BYTES_MAX: Final = 16 << 20
"""One JSON line. The largest event the broker carries has 10 MB."""

ID_CHARS_MAX: Final = 1_024
"""A subscription's id."""

TOPIC_CHARS_MAX: Final = 65_535
"""A topic or a pattern: MQTT's bound, so that every MQTT topic fits."""

DESTINATIONS_MAX: Final = 1 << 20
"""Destinations of one index: 32 sub-units on four levels (Narada §7)."""

XML_BYTES_MAX: Final = 10 << 20
"""An event's `$xml` in UTF-8: the largest event the broker carries."""

XML_MARKS_MAX: Final = 200_000
"""`<` and `=` in a document: each tag and attribute has one, so this bounds its nodes before any is made, and with them
the memory (some 200 bytes each)."""

XML_DEPTH_MAX: Final = 256
"""Nesting of elements: libxml2's own bound, and more than any document we met."""

XPATH_WORK_MAX: Final = 50_000_000
"""Steps that one XPath may need on one document, by the bound of filters/xpath_work.py: some tenths of a second."""

XML_SMALL_SIZE_MAX: Final = 4_096
"""Size of a document (nodes, text counted in) whose values decide an XPath in the index. The common XPath is at most
10 million steps there, far from the bound on its work; on a larger document libxml2 confirms, within that bound."""

XPATH_COMPILED_MAX: Final = 8_192
"""Compiled XPaths that are kept, some 5 KB each."""

CONDITIONS_KEPT_MAX: Final = 8_192
"""Conditions of a saved index that are kept once read, some 2 KB each."""

MASTER_ANSWER_SECONDS_MAX: Final = 5.0
"""How long a cluster's master may take to accept a connection. Spark itself would try for a minute."""

ROW_GROUP_ROWS: Final = 131_072
"""Rows in a row group of the event log: large enough to compress, small enough that a task reads one of many."""

SEGMENT_ROWS_MAX: Final = 1_048_576
"""Rows in a segment of the event log. Retention drops whole segments, so this is also its grain."""

COVER_PROOFS_MAX: Final = 200_000
"""Pairs of filters that an analysis tries to prove equal: it ends, whatever the log."""
