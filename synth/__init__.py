"""Synthetic tables with a differential-privacy guarantee that is true end to end.

This file is the library's interface: whatever it does not name is an implementation detail.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from synth import jobs
    from synth.errors import BudgetError, InputError, SpentError, SynthError, UsageError
    from synth.evaluate.examination import appraise
    from synth.evaluate.fidelity import compare
    from synth.evaluate.related_fidelity import appraise_related
    from synth.generators.marginals import mixtures
    from synth.jobs import roles
    from synth.pipeline.combining import BeyondMeasured, Combined, beyond, combine
    from synth.pipeline.count_intervals import count_intervals
    from synth.pipeline.encoded_rows import encode
    from synth.pipeline.inference.estimates import estimates
    from synth.pipeline.kept import kept
    from synth.pipeline.kept import warning as kept_warning
    from synth.pipeline.methods import methods
    from synth.pipeline.multiple import multiple
    from synth.pipeline.plan import plan
    from synth.pipeline.reached import advice as expected_advice
    from synth.pipeline.reached import constants as expected_from
    from synth.pipeline.reached import expected
    from synth.pipeline.refit import refit
    from synth.pipeline.related_forecast import plan_related
    from synth.pipeline.related_plan import charged_before as tables_charged_before
    from synth.pipeline.related_sample import sample_to as sample_related
    from synth.pipeline.request import RunRequest
    from synth.pipeline.result import Result
    from synth.pipeline.rough_rows import rough_rows
    from synth.pipeline.run import learn_schema, run
    from synth.pipeline.same_rows import charged_before
    from synth.pipeline.sample import sample
    from synth.pipeline.schema_approval import alone
    from synth.pipeline.stored_requests import LearningRequest, RefitRequest, ReportRequest, StatisticsRequest
    from synth.pipeline.synthesizer import Synthesizer
    from synth.privacy.accounting.compare_runs import ledger_composition
    from synth.privacy.ledger.ledger import Ledger
    from synth.release.card.card import meaning, odds
    from synth.release.card.verify import check as check_card
    from synth.report.bundle import make as make_bundle
    from synth.report.card_page import render_html as card_html
    from synth.report.last_look import bounds as standing_bounds
    from synth.report.last_look import standing, standing_rare
    from synth.report.private_selection import distances as choice_distances
    from synth.report.private_selection import questions as choice_questions
    from synth.report.private_selection import shared as choice_columns
    from synth.report.publish import write as write_publishable_report
    from synth.report.steward.write import examine
    from synth.report.steward.write import write as write_steward_report
    from synth.schema.coarsening import coarser_plain as grouped
    from synth.schema.coarsening import listed_plain as listed
    from synth.schema.coarsening import offered as groups
    from synth.schema.naming import dataset_of
    from synth.schema.related import Related
    from synth.schema.related import load as load_related
    from synth.schema.related import parse as parse_related
    from synth.schema.table import Schema, load, parse
    from synth.sources import named_databases as databases
    from synth.sources.draft_schema import draft
    from synth.sources.tables_to_draft import is_folder_of_tables, tables_in

__version__ = "0.1.0"

# Name -> module[:name there]; nothing behind the colon is the module itself. Loaded when first used: torch and pandas
# cost seconds that `synth ledger show` does not need.
_HOME = {
    "BeyondMeasured": "pipeline.combining",
    "BudgetError": "errors",
    "Combined": "pipeline.combining",
    "InputError": "errors",
    "LearningRequest": "pipeline.stored_requests",
    "Ledger": "privacy.ledger.ledger",
    "RefitRequest": "pipeline.stored_requests",
    "Related": "schema.related",
    "ReportRequest": "pipeline.stored_requests",
    "Result": "pipeline.result",
    "RunRequest": "pipeline.request",
    "Schema": "schema.table",
    "SpentError": "errors",
    "StatisticsRequest": "pipeline.stored_requests",
    "SynthError": "errors",
    "Synthesizer": "pipeline.synthesizer",
    "UsageError": "errors",
    "alone": "pipeline.schema_approval",
    "appraise": "evaluate.examination",
    "appraise_related": "evaluate.related_fidelity",
    "beyond": "pipeline.combining",
    "card_html": "report.card_page:render_html",
    "charged_before": "pipeline.same_rows",
    "check_card": "release.card.verify:check",
    "choice_columns": "report.private_selection:shared",
    "choice_distances": "report.private_selection:distances",
    "choice_questions": "report.private_selection:questions",
    "combine": "pipeline.combining",
    "compare": "evaluate.fidelity",
    "compared_elsewhere": "report.chosen_release",
    "databases": "sources.named_databases:",
    "count_intervals": "pipeline.count_intervals",
    "dataset_of": "schema.naming",
    "draft": "sources.draft_schema",
    "examine": "report.steward.write",
    "encode": "pipeline.encoded_rows",
    "estimates": "pipeline.inference.estimates",
    "expected": "pipeline.reached",
    "expected_advice": "pipeline.reached:advice",
    "expected_from": "pipeline.reached:constants",
    "grouped": "schema.coarsening:coarser_plain",
    "groups": "schema.coarsening:offered",
    "is_folder_of_tables": "sources.tables_to_draft",
    "jobs": "jobs:",
    "kept": "pipeline.kept",
    "kept_warning": "pipeline.kept:warning",
    "learn_schema": "pipeline.run",
    "ledger_composition": "privacy.accounting.compare_runs",
    "listed": "schema.coarsening:listed_plain",
    "load": "schema.table",
    "load_related": "schema.related:load",
    "make_bundle": "report.bundle:make",
    "meaning": "release.card.card",
    "methods": "pipeline.methods",
    "mixtures": "generators.marginals.mixtures:",
    "multiple": "pipeline.multiple",
    "note_look": "report.chosen_release:look",
    "odds": "release.card.card",
    "parse": "schema.table",
    "parse_related": "schema.related:parse",
    "plan": "pipeline.plan",
    "plan_related": "pipeline.related_forecast",
    "refit": "pipeline.refit",
    "roles": "jobs.roles:",
    "rough_rows": "pipeline.rough_rows",
    "run": "pipeline.run",
    "sample": "pipeline.sample",
    "sample_related": "pipeline.related_sample:sample_to",
    "standing": "report.last_look",
    "standing_bounds": "report.last_look:bounds",
    "standing_rare": "report.last_look",
    "sweep_scratch": "sources.engines.scratch:sweep",
    "tables_charged_before": "pipeline.related_plan:charged_before",
    "tables_in": "sources.tables_to_draft",
    "write_publishable_report": "report.publish:write",
    "write_steward_report": "report.steward.write:write",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'synth' has no attribute {name!r}")
    module, colon, inside = _HOME[name].partition(":")
    found = importlib.import_module(f"synth.{module}")
    return found if colon and not inside else getattr(found, inside or name)
