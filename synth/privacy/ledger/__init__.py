"""The ledger: every spend of every dataset, written before its rows are read."""
