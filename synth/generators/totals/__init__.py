"""Rows that agree with published totals to the unit: a search over changes of single rows and exchanges between two."""
