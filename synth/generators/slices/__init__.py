"""Methods that read noisy random projections of the rows."""
