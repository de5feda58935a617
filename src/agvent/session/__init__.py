"""The client side of a link, pure: requests and publications that survive a broken link, deliveries that come once.

Time, sockets and tasks are the driver's. What was not answered when a link broke is said again when it is back, and
every message is one that may be said twice.
"""
