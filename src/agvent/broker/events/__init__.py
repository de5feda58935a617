"""Events on their way: in at their entry, through brokers between, to their home; and agvents that route themselves.

Rules of this layer: an event leaves its entry when its record is on disk; a copy is confirmed when its arrival is.
"""
