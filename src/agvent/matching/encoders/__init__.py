"""Events as columns: from Python objects, JSON lines, Arrow batches and XML documents.

Rules of this layer: `events.py` defines what an event's columns are, and the other encoders are tested against it. An
encoder reads slots and strings (`columns/`) and knows nothing of rows or of the index.
"""
