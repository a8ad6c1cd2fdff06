"""Arithmetic that questions and models share: random fields, arrays on disk, small networks."""
