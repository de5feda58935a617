"""What a broker knows, and how a record changes it.

Rules of this layer: a table changes only by `apply(record)`, or by a change that no restart needs (fast events, links,
timers). A table sends nothing and reads no clock. Of the rest of the broker it imports only records.py and notices.py.
"""
