"""Who wants what: subscriptions as one stream from each home to the entries, advertisements flooded to all brokers.

Rule of this layer: a broker speaks for its own stream and its own advertisements only.
"""
