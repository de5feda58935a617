"""Analyse: the traffic of a log as tables, and a page with charts.

Rules of this layer: a table is a small DataFrame, computed when it is asked for. The page fetches nothing.
"""
