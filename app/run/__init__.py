"""Runs: what one would cost, how it is asked for, started and found again, and what the ledger says."""
