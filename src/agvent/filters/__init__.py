"""Filters: one expression tree, the languages that parse to it, and what can be said about it without an index.

`languages.py` is the front door (parse, format); `tree.py` the nodes; `evaluate.py` the oracle every engine is tested
against; `relations.py` covers and overlaps; `explain.py` why a filter did or did not match. Nothing here does I/O,
keeps state that changes an answer, or knows of an index.
"""
