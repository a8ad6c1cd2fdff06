"""The auditor: attacks the real components, from rows to table, and says what they certainly let out.

A seam beside the pipeline: it may use everything that the pipeline uses, and no row of anybody's.
"""

from synth.auditing.capacity import NOISES, Capacity, noise_audit, release_audit
from synth.auditing.methods import Audit, audit, claim_of, compared
from synth.auditing.neighbours import Pair, worst_pair
from synth.auditing.page import audit_page, capacity_page
from synth.auditing.runs import Parts

__all__ = [
    "NOISES",
    "Audit",
    "Capacity",
    "Pair",
    "Parts",
    "audit",
    "audit_page",
    "capacity_page",
    "claim_of",
    "compared",
    "noise_audit",
    "release_audit",
    "worst_pair",
]
