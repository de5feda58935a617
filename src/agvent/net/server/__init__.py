"""A broker as a process: sockets, journal and timers around the pure broker.

Rule of this layer: it does not import the client.
"""
