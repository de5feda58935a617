"""Replay: the events of the past that one new subscription would have received.

Rules of this layer: Spark's column selects, the matcher decides. A result equals what the matcher says of each event.
"""
