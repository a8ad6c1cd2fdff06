"""Attacks on a synthetic table: singling out, linkability, inference, reconstruction. For the steward alone.

Each is tried on rows that the run saw and, alike, on held-out rows that it did not see: what the attack finds of the
latter is true of the population. No attack that fails proves anything; the guarantee is the card's.

**Source**: Giomi, Boenisch, Wehmeyer and Tasnadi 2023, A Unified Framework for Quantifying Privacy Risk in Synthetic
Data, PoPETs 2023(2); Wilson 1927 for intervals.
"""

from synth.evaluate.risks.chapter import ATTACKS, Risks, measure
from synth.evaluate.risks.rates import AttackRates, Rate

__all__ = ["ATTACKS", "AttackRates", "Rate", "Risks", "measure"]
