"""Discover: queries over stored documents and advertisements.

Rules of this layer: a query sees only the last version of each row, and only the realm it is limited to.
"""
