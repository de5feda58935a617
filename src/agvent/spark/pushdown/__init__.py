"""A filter as a Spark column, and the part that Spark cannot answer.

Rules of this layer: the meaning of a filter is that of `filters.evaluate`; a column may be too wide, never too narrow.
It imports no other layer.
"""
