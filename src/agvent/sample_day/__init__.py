"""A made-up day of events, written as an event log: for tests of what reads logs, for the demo, for trying things.

Equal plans give equal logs, but for the times in the heads. Nothing here is imported by the rest of `store/`.
"""
