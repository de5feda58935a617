"""Which neighbour a message goes to: the alternative routing table, and messages routed by it.

Rule of this layer: it decides where a message goes next, and never what is in it.
"""
