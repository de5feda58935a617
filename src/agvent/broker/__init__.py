"""The broker as a pure state machine: `Broker.step(inputs, now)` gives effects, and `Broker.check` its invariants.

Rules of this room: no I/O, no clock, no randomness; what is iterated has an order that does not depend on hashing, so
that a run replays. Durable tables change only by applying a record (records.py); what a record makes safe is said after
it is on disk (outbox.py). docs/broker.md is the design.
"""
