"""What a batch of events is to the index: columns of numbers, and the dictionaries that make numbers of names.

Rule of this layer: slots and strings only grow, so a reader's view of them stays valid while a writer adds more.
"""
