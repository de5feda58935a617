"""Streams: the deliveries that a log calls for, as events come, into a sink.

Rules of this layer: a sink takes a batch once, by its number. Only `network_sink` talks to brokers.
"""
