"""The broker as a pure state machine: `Broker.step(inputs, now)` gives effects, and `Broker.check` its invariants.

Rules of this room: no I/O, no clock, no randomness; what is iterated has an order that does not depend on hashing, so
that a run replays. Durable tables change only by applying a record (records.py); what a record makes safe is said after
it is on disk (outbox.py). docs/broker.md is the design.

Layers, lowest first; each imports only from those before it:

    records     every change of the tables; with `interface`, `notices`, `outbox` and
                `pending`, the data that all parts share
    tables      what a broker knows; changes only by a record
    prefetch    what the events of a step match, asked of the tables together
    routing     which neighbour a message goes to
    events      an event at its entry, in transit, at its home; agvents that route themselves
    interest    subscriptions and advertisements between brokers
    clients     attached clients: what they ask and publish, and their moves
    broker      the parts put together, and the tables of what goes to which
"""
