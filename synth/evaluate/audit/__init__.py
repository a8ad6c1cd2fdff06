"""The auditor: attacks the real components, from rows to table, and says what they certainly let out.

A seam beside the pipeline: it may use everything that the pipeline uses, and no row of anybody's.
"""

from synth.evaluate.audit.capacity import NOISES, Capacity, noise_audit, release_audit
from synth.evaluate.audit.capacity_curves import Curves, noise_curves
from synth.evaluate.audit.capacity_strategy import StrategyView, strategy_view
from synth.evaluate.audit.methods import Audit, audit, claim_of, compared
from synth.evaluate.audit.neighbours import Pair, worst_pair
from synth.evaluate.audit.runs import RunParts
from synth.evaluate.audit.whole import WholeAudit, audit_whole
from synth.evaluate.audit.whole_canaries import Canary, chosen, standard
from synth.evaluate.audit.whole_persons import chosen_trees, persons_canaries
from synth.evaluate.audit.whole_trees import TreeCanary, trees

__all__ = [
    "NOISES",
    "Audit",
    "Canary",
    "Capacity",
    "Curves",
    "Pair",
    "RunParts",
    "StrategyView",
    "TreeCanary",
    "WholeAudit",
    "audit",
    "audit_whole",
    "chosen",
    "chosen_trees",
    "claim_of",
    "compared",
    "noise_audit",
    "noise_curves",
    "persons_canaries",
    "release_audit",
    "standard",
    "strategy_view",
    "trees",
    "worst_pair",
]
