"""Files on a disk or in an object store: read in slices by tasks, written as a folder whole or not at all.

Rules of this layer: a path may be the address of a store; only `pyarrow.fs` opens it. A slice knows how many events lie
before it, so every event has a number over all files.
"""
