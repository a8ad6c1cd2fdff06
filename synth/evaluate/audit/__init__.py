"""The auditor: attacks the real components, from rows to table, and says what they certainly let out.

A seam beside the pipeline: it may use everything that the pipeline uses, and no row of anybody's.
"""
