"""Rows as positions: encoding, the spill beyond memory, persons, tables of counts."""
