"""Connections: addresses, TLS, introductions, frames on a stream of bytes.

Rule of this layer: it knows neither brokers nor clients, only two ends that introduce themselves.
"""
