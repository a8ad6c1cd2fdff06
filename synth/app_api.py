"""What the application needs of the library beside the public names: requests, jobs, forecasts, figures.

A room of its own makes no promise: these names change with the application. Users of the library need ``synth`` alone.
"""

from typing import TYPE_CHECKING, Any

from synth import at_home

if TYPE_CHECKING:
    from synth import jobs
    from synth.errors import spelled
    from synth.evaluate.column_numbers import lines as column_lines
    from synth.evaluate.examination import appraise
    from synth.evaluate.related_fidelity import appraise_related
    from synth.jobs import looks, roles
    from synth.jobs.roles import ACTIONS, Roles, Visitor, pages
    from synth.pipeline.combining import BeyondMeasured, Combined, beyond
    from synth.pipeline.encoded_rows import encode
    from synth.pipeline.inference.released_counts import count_intervals
    from synth.pipeline.methods import finds_gpu
    from synth.pipeline.multiple import multiple
    from synth.pipeline.plan import worth as prior_worth
    from synth.pipeline.prepare import charged_before
    from synth.pipeline.priors import look as prior_look
    from synth.pipeline.private_rows import rough_rows
    from synth.pipeline.reached import advice as expected_advice
    from synth.pipeline.reached import constants as expected_from
    from synth.pipeline.reached import expected
    from synth.pipeline.request import (
        LearningRequest,
        RefitRequest,
        ReportRequest,
        RunRequest,
        StatisticsRequest,
        VerifiedRequest,
    )
    from synth.pipeline.retention import retention
    from synth.pipeline.retention import warning as retention_warning
    from synth.pipeline.run import refit
    from synth.pipeline.same_rows import audience_of
    from synth.pipeline.sample import sample_to
    from synth.pipeline.schema_approval import alone
    from synth.pipeline.series import changes as series_changes
    from synth.pipeline.series import plan as series_plan
    from synth.pipeline.uses import columns_of as columns_for_uses
    from synth.pipeline.uses import of_plan as uses_of_plan
    from synth.pipeline.uses import with_uses
    from synth.privacy.accounting.compare_runs import composite as exact_total
    from synth.privacy.accounting.compare_runs import ledger_composition
    from synth.release.card import papers
    from synth.release.card.card import meaning, odds
    from synth.release.card.limits import chance
    from synth.report.answer_page import ANSWER
    from synth.report.answer_page import answers as answers_of
    from synth.report.answer_page import framed as answer_picture
    from synth.report.answer_page import render as answer_page
    from synth.report.card_page import render_html as card_html
    from synth.report.chosen_release import compared_elsewhere
    from synth.report.chosen_release import distances as choice_distances
    from synth.report.chosen_release import look as note_look
    from synth.report.chosen_release import questions as choice_questions
    from synth.report.chosen_release import shared as choice_columns
    from synth.report.documents.pack import unwritten as unwritten_papers
    from synth.report.handed_over import compare as compared
    from synth.report.last_look import bounds as standing_bounds
    from synth.report.last_look import standing, standing_rare
    from synth.report.preview import preview
    from synth.report.prior_evidence import prior_evidence
    from synth.report.publish import verdict as released_verdict
    from synth.report.publish import write as write_publishable_report
    from synth.report.result_page import render as result_page
    from synth.schema import codebook as code_books
    from synth.schema.areas import lines as area_lines
    from synth.schema.areas import listed as areas_listed
    from synth.schema.coarsening import coarser_plain as grouped
    from synth.schema.coarsening import listed_plain as listed
    from synth.schema.coarsening import offered as groups
    from synth.schema.csv_injection import marked as csv_safe
    from synth.schema.dataset import Dataset, load_any, load_related, parse_related
    from synth.schema.dataset import parse_any as parse_schema
    from synth.schema.key_pattern import problem as key_problem
    from synth.schema.names import canonical, dataset_of
    from synth.schema.published_totals import stated as totals_stated
    from synth.schema.related_names import shared as shared_keys
    from synth.schema.table import MOST_CHILDREN
    from synth.schema.totals import table as totals_table
    from synth.sources import drafting
    from synth.sources import named_databases as databases
    from synth.sources.draft_related import Wanted, is_folder_of_tables, tables_in
    from synth.sources.engines.duckdb import sweep as sweep_scratch
    from synth.verified.language import tables as question_tables

# Name -> module[:name there], as in synth/__init__.py.
_HOME = {
    "ACTIONS": "jobs.roles",
    "ANSWER": "report.answer_page",
    "BeyondMeasured": "pipeline.combining",
    "Combined": "pipeline.combining",
    "Dataset": "schema.dataset",
    "LearningRequest": "pipeline.request",
    "MOST_CHILDREN": "schema.table",
    "RefitRequest": "pipeline.request",
    "ReportRequest": "pipeline.request",
    "Roles": "jobs.roles",
    "RunRequest": "pipeline.request",
    "StatisticsRequest": "pipeline.request",
    "VerifiedRequest": "pipeline.request",
    "Visitor": "jobs.roles",
    "Wanted": "sources.draft_related",
    "alone": "pipeline.schema_approval",
    "answer_page": "report.answer_page:render",
    "answer_picture": "report.answer_page:framed",
    "answers_of": "report.answer_page:answers",
    "appraise": "evaluate.examination",
    "area_lines": "schema.areas:lines",
    "areas_listed": "schema.areas:listed",
    "appraise_related": "evaluate.related_fidelity",
    "beyond": "pipeline.combining",
    "card_html": "report.card_page:render_html",
    "canonical": "schema.names",
    "audience_of": "pipeline.same_rows",
    "chance": "release.card.limits",
    "charged_before": "pipeline.prepare",
    "choice_columns": "report.chosen_release:shared",
    "choice_distances": "report.chosen_release:distances",
    "choice_questions": "report.chosen_release:questions",
    "code_books": "schema.codebook:",
    "column_lines": "evaluate.column_numbers:lines",
    "compared": "report.handed_over:compare",
    "compared_elsewhere": "report.chosen_release",
    "columns_for_uses": "pipeline.uses:columns_of",
    "count_intervals": "pipeline.inference.released_counts",
    "csv_safe": "schema.csv_injection:marked",
    "databases": "sources.named_databases:",
    "dataset_of": "schema.names",
    "drafting": "sources.drafting:",
    "encode": "pipeline.encoded_rows",
    "exact_total": "privacy.accounting.compare_runs:composite",
    "expected": "pipeline.reached",
    "expected_advice": "pipeline.reached:advice",
    "expected_from": "pipeline.reached:constants",
    "finds_gpu": "pipeline.methods",
    "grouped": "schema.coarsening:coarser_plain",
    "groups": "schema.coarsening:offered",
    "is_folder_of_tables": "sources.draft_related",
    "jobs": "jobs:",
    "retention": "pipeline.retention",
    "retention_warning": "pipeline.retention:warning",
    "key_problem": "schema.key_pattern:problem",
    "ledger_composition": "privacy.accounting.compare_runs",
    "listed": "schema.coarsening:listed_plain",
    "load_any": "schema.dataset",
    "load_related": "schema.dataset",
    "looks": "jobs.looks:",
    "meaning": "release.card.card",
    "multiple": "pipeline.multiple",
    "preview": "report.preview",
    "series_changes": "pipeline.series:changes",
    "series_plan": "pipeline.series:plan",
    "prior_evidence": "report.prior_evidence",
    "prior_look": "pipeline.priors:look",
    "prior_worth": "pipeline.plan:worth",
    "note_look": "report.chosen_release:look",
    "odds": "release.card.card",
    "pages": "jobs.roles",
    "papers": "release.card.papers:",
    "parse_related": "schema.dataset",
    "parse_schema": "schema.dataset:parse_any",
    "refit": "pipeline.run",
    "question_tables": "verified.language:tables",
    "released_verdict": "report.publish:verdict",
    "result_page": "report.result_page:render",
    "roles": "jobs.roles:",
    "rough_rows": "pipeline.private_rows",
    "sample_to": "pipeline.sample",
    "shared_keys": "schema.related_names:shared",
    "spelled": "errors",
    "standing": "report.last_look",
    "standing_bounds": "report.last_look:bounds",
    "standing_rare": "report.last_look",
    "sweep_scratch": "sources.engines.duckdb:sweep",
    "tables_in": "sources.draft_related",
    "uses_of_plan": "pipeline.uses:of_plan",
    "with_uses": "pipeline.uses",
    "totals_stated": "schema.published_totals:stated",
    "totals_table": "schema.totals:table",
    "unwritten_papers": "report.documents.pack:unwritten",
    "write_publishable_report": "report.publish:write",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'synth.app_api' has no attribute {name!r}")
    return at_home(_HOME[name], name)


def __dir__() -> list[str]:
    return __all__
