"""What a subscription is to the index: rows of predicates on columns, made from the normal form of its filter.

Rule of this layer: a row accepts an event exactly if its part of the condition is true, or it names a residual that
the oracle must confirm. How rows are found is the matter of `index/`.
"""
