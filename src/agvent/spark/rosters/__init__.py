"""Who may be matched: subscriptions as an index, with names and epochs, and its way to the workers.

Rules of this layer: a roster is one immutable file whose name is the hash of its content. Workers map and keep it.
"""
