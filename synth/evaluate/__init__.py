"""How close a synthetic table comes to the real one, and how useful it is; for the steward."""
