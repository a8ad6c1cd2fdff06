"""Estimates with intervals from one release: rows weighted until they have the released counts."""
