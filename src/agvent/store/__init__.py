"""Durable state: what outlives a process. The one room below `net/` and `spark/` that touches files."""
