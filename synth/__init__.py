"""Synthetic tables with a differential-privacy guarantee that is true end to end.

This file is the library's interface: whatever it does not name is an implementation detail.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth import databases, jobs, roles
    from synth.card import meaning, odds
    from synth.card_check import check as check_card
    from synth.card_page import render_html as card_html
    from synth.closest import distances as choice_distances
    from synth.closest import questions as choice_questions
    from synth.closest import shared as choice_columns
    from synth.drafting import draft
    from synth.errors import BudgetError, InputError, SpentError, SynthError, UsageError
    from synth.evaluate.fidelity import compare
    from synth.groupings import coarser_plain as grouped
    from synth.groupings import offered as groups
    from synth.lastlook import standing, standing_rare
    from synth.naming import dataset_of
    from synth.pipeline import learn_schema, refit, run, sample
    from synth.planning import plan
    from synth.privacy.composition import ledger_composition
    from synth.privacy.ledger import Ledger
    from synth.release_bundle import make as make_bundle
    from synth.report import write as write_publishable_report
    from synth.request import methods
    from synth.result import Result
    from synth.sameness import charged_before
    from synth.schema import Schema, load, parse
    from synth.steward_report import examine
    from synth.steward_report import write as write_steward_report
    from synth.vouching import alone

__version__ = "0.1.0"

# Name -> module[:name there]. Loaded when first used: torch and pandas cost seconds that `synth ledger show` does
# not need.
_HOME = {
    "BudgetError": "errors", "InputError": "errors", "SpentError": "errors", "SynthError": "errors",
    "UsageError": "errors", "Schema": "schema", "load": "schema", "parse": "schema", "draft": "drafting",
    "dataset_of": "naming", "charged_before": "sameness",
    "run": "pipeline", "refit": "pipeline", "sample": "pipeline", "Result": "result",
    "learn_schema": "pipeline", "plan": "planning",
    "Ledger": "privacy.ledger", "meaning": "card", "odds": "card", "methods": "request",
    "compare": "evaluate.fidelity", "examine": "steward_report", "ledger_composition": "privacy.composition",
    "write_steward_report": "steward_report:write", "write_publishable_report": "report:write",
    "make_bundle": "release_bundle:make", "check_card": "card_check:check", "card_html": "card_page:render_html",
    "choice_columns": "closest:shared", "choice_questions": "closest:questions",
    "choice_distances": "closest:distances", "alone": "vouching", "grouped": "groupings:coarser_plain",
    "groups": "groupings:offered", "standing": "lastlook", "standing_rare": "lastlook",
}  # fmt: skip

__all__ = [
    "BudgetError",
    "InputError",
    "Ledger",
    "Result",
    "Schema",
    "SpentError",
    "SynthError",
    "UsageError",
    "alone",
    "card_html",
    "charged_before",
    "check_card",
    "choice_columns",
    "choice_distances",
    "choice_questions",
    "compare",
    "databases",
    "dataset_of",
    "draft",
    "examine",
    "grouped",
    "groups",
    "jobs",
    "learn_schema",
    "ledger_composition",
    "load",
    "make_bundle",
    "meaning",
    "methods",
    "odds",
    "parse",
    "plan",
    "refit",
    "roles",
    "run",
    "sample",
    "standing",
    "standing_rare",
    "write_publishable_report",
    "write_steward_report",
]


def __getattr__(name: str) -> Any:
    if name in ("databases", "jobs", "roles"):
        return importlib.import_module(f"synth.{name}")
    if name in _HOME:
        module, _, inside = _HOME[name].partition(":")
        return getattr(importlib.import_module(f"synth.{module}"), inside or name)
    raise AttributeError(f"module 'synth' has no attribute {name!r}")
