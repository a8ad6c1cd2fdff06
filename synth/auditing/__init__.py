"""The auditor: attacks the real components, from rows to table, and says what they certainly let out.

A seam beside the pipeline: it may use everything that the pipeline uses, and no row of anybody's.
"""

from synth.auditing.canaries_whole import Canary, chosen, standard
from synth.auditing.capacity import NOISES, Capacity, noise_audit, release_audit
from synth.auditing.methods import Audit, audit, claim_of, compared
from synth.auditing.neighbours import Pair, worst_pair
from synth.auditing.page import audit_page, capacity_page
from synth.auditing.runs import Parts
from synth.auditing.whole import WholeAudit, audit_whole
from synth.auditing.whole_page import whole_page

__all__ = [
    "NOISES",
    "Audit",
    "Canary",
    "Capacity",
    "Pair",
    "Parts",
    "WholeAudit",
    "audit",
    "audit_page",
    "audit_whole",
    "capacity_page",
    "chosen",
    "claim_of",
    "compared",
    "noise_audit",
    "release_audit",
    "standard",
    "whole_page",
    "worst_pair",
]
