"""The tables of an event log on Spark: as DataFrames, and as the source `format("agvent")`.

Rules of this layer: only segments that a head names are read. The rows between two offsets are always the same, so
a batch that runs again gives the same result.
"""
