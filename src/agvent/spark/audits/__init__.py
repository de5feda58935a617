"""Audit: the deliveries that were due, compared with those that were made.

Rules of this layer: it only reads, and judges by the log alone. Each delivery has one outcome and at most one defect.
"""
