"""A seeded world that runs the broker and the session and tries to break them.

Clock, links and disks are replaced; broker, session, link and codec are the production code. One seed is one run: all
randomness comes from it, and nothing is iterated in an order that hashing decides. The checkers judge a run by what was
written to disks and what clients were told, not by the brokers' own tables.
"""
