"""Results: compared for the steward's eyes, chosen, drawn from, and let out."""
