"""The auditor's statistics: lower bounds on what a mechanism let out, from draws of what it told. No rows, no noise."""

from synth.evaluate.audit.statistics.bounds import Rates, at_least, at_most, best_cut, rates
from synth.evaluate.audit.statistics.canaries import Guesses, bounded, guessed, likelihood
from synth.evaluate.audit.statistics.finding import DELTA, Claim, Finding, curve, examine

__all__ = [
    "DELTA",
    "Claim",
    "Finding",
    "Guesses",
    "Rates",
    "at_least",
    "at_most",
    "best_cut",
    "bounded",
    "curve",
    "examine",
    "guessed",
    "likelihood",
    "rates",
]
