"""Match: events and subscriptions to pairs.

Rules of this layer: `match` is the way in for every kind of source. A class named Task is pickled with the job and runs
in a worker; it holds places and names, no data. A question without an answer is an error or a row, never a silence.
"""
