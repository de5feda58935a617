"""The demonstration: the twelve servers of ABDES figs. 5–7 as processes, a bookshop on them, faults, and a verdict.

What should arrive is computed here in plain Python, from the agvents and the wishes of the shops. Nothing of the
network (its filters, index, journal or log) takes part in that: else Agvent would be judged by its own word.
"""
