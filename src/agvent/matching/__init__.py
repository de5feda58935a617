"""The index over many subscriptions: columnar, compiled, a library on its own.

Rules of this room: the index answers as `filters.evaluate` does, and is tested against it. Kernels are Python that
Numba compiles: loops over arrays, no objects. A reader sees a change whole or not at all. Nothing here does I/O;
`store/` saves and loads an index.

Layers, lowest first; each imports only from those before it, and `rows`, `index` never from `encoders`:

    columns         events as columns: arrays, slots, the string dictionary, a batch
    rows            subscriptions as rows of predicates on those columns
    index           snapshot, tail and the kernels that find the rows of an event
    encoders        Python events, JSON lines, Arrow batches and XML documents to columns; needs `columns` only
    subscriptions   the index as its users see it, with `matches` and `prepare`
"""
