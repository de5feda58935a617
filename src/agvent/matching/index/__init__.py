"""How an event finds its rows: an immutable snapshot, a tail of newer rows, and the kernels that search both.

Rule of this layer: `state.py` is the only place where a change becomes visible, with one assignment. A snapshot is
never written after it was built.
"""
