"""One run: schema -> [curator] -> releases -> model -> rows -> files.

Everything that can be refused without a spend is refused first (prepare.py), then the ledger line is written, then rows
are read (charged_run.py). From the last answer on, all is post-processing.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack

from synth.errors import InputError
from synth.generators.method import Method
from synth.jobs import PeakMemory, give_back
from synth.pipeline.charged_run import ChargedRun, checked_and_charged
from synth.pipeline.fit_and_draw import Made, fit_and_sample, write
from synth.pipeline.learn_schema import lacking
from synth.pipeline.private_rows import Source
from synth.pipeline.public_twin import Preview
from synth.pipeline.reporting import STAGES as STAGES
from synth.pipeline.reporting import Quiet, Reporter, watched
from synth.pipeline.request import RunOptions, RunRequest
from synth.pipeline.result import Result
from synth.pipeline.schema_approval import AnySchema, check_left, to_learn
from synth.privacy.ledger.row_marks import EVERYBODY, Audience
from synth.privacy.noise import SystemNoise
from synth.questions import Release
from synth.questions.kinds import kinds_of
from synth.schema.dataset import Dataset
from synth.schema.given import check_schema
from synth.schema.table import Schema


def run(
    table: Source | Mapping[str, Source],
    *,
    schema: Schema | Dataset,
    epsilon: float,
    delta: float,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    steward_log: str | Path | None = None,
    audience: Audience = EVERYBODY,
    **options: Unpack[RunOptions],
) -> Result:
    """Turns a private table into a synthetic one and charges the dataset's ledger with epsilon and delta.

    ``table``: a CSV (also .gz), Parquet or Excel file, a folder of Parquet files, a frame (then name the ``dataset``),
    or the name of a table at a ``source``. ``options``: the fields of ``synth.RunRequest``, which says what each means:
    ``method``, ``relation``, ``unit``, ``out``, ``ledger``, ``dataset``, ``seed`` and others.
    ``epsilon``: 1e-4 to 1e6; ``delta``: 1e-20 to below 1, or 0 for purely private methods. ``reporter``: is told of
    progress. ``steward_log``: a private file for the counts of cells outside the schema.
    Several tables that belong together are a folder with a file for each, or frames and paths by table; their schema
    is of ``parse_related``, the unit one key of the root with everything below it.
    Rows like those of another dataset in the ledger, as far as the ``audience`` may know, are refused
    before the spend unless ``separate`` says that no person is in both.

    **Guarantee**: the result is (epsilon, delta)-DP for the relation on that unit, all that touched the rows
    included. Errors: UsageError, InputError, BudgetError before anything is spent; SpentError afterwards, with the
    spend recorded.

    Privacy: reads rows, under noise.
    """
    check_schema(schema, tree=True)
    request, rows = requested(table, epsilon=epsilon, delta=delta, **options)
    with watched() if reporter is None else nullcontext(reporter) as watcher:
        return carry_out(
            request,
            schema=schema,
            rows=rows,
            noise=noise,
            reporter=watcher,
            steward_log=steward_log,
            audience=audience,
        )


def requested(table: Source | Mapping[str, Source] | None, **options: Any) -> tuple[RunRequest, Any]:
    """The request, and the rows where they are no file's or named table's. Errors: UsageError."""
    named = isinstance(table, str | Path)
    return RunRequest(table=table if named else None, **options), None if named else table


def carry_out(
    request: RunRequest,
    *,
    schema: Schema | Dataset,
    rows: Source | Mapping[str, Source] | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    steward_log: str | Path | None = None,
    audience: Audience = EVERYBODY,
    questions: Method | None = None,
    preview: Preview | None = None,
) -> Result:
    """As ``run``, of a request that stands already, and of its table unless ``rows`` are handed over.

    ``questions``: the method itself, in place of the one that the request names. ``preview``: that the rows are public.
    """
    check_left(request.learn_share)
    clock, reporter = time.perf_counter(), reporter or Quiet()
    with (
        PeakMemory() as peak,
        checked_and_charged(
            request,
            schema,
            rows=rows,
            noise=noise,
            reporter=reporter,
            audience=audience,
            questions=questions,
            steward_log=steward_log,
            preview=preview,
        ) as charged_run,
    ):
        made, card, paths, seconds = _released(request, charged_run, reporter)
    plan = charged_run.plan
    return Result(
        method=plan.questions.name,
        relation=str(plan.grant.adjacency.relation),
        dataset=plan.dataset,
        epsilon_spent=request.epsilon,
        epsilon_derived=charged_run.epsilon_derived,
        delta=request.delta,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        device=plan.device,
        paths=paths,
        card=card,
        schema=charged_run.schema.stated,
        **made.for_result,
    )


def _released(
    request: RunRequest, charged_run: ChargedRun, reporter: Reporter
) -> tuple[Made, dict[str, Any], dict[str, str], float]:
    """Measured, fitted, drawn and written: with its card, the files by role, and the seconds but for the writing."""
    plan, started = charged_run.plan, time.perf_counter()
    charged_run.learn()
    releases, setting = charged_run.measure()
    give_back()  # the rows are gone: what held them must not stand beside the fit's and the table's memory
    made = fit_and_sample(
        plan.questions,
        releases,
        setting,
        reporter,
        device=plan.device,
        seed=request.seed,
        num_rows=request.num_rows,
        held=request.out is None,
        given=charged_run.given,
    )
    seconds = time.perf_counter() - started
    card = about_release(charged_run, made, releases)
    paths = write(
        request.out,
        made,
        releases,
        setting,
        card,
        reporter,
        public=plan.public,
        raw_text=request.raw_text,
        dialect=request.dialect,
    )
    return made, card, paths, seconds


def about_release(charged_run: ChargedRun, made: Made, releases: Sequence[Release]) -> dict[str, Any]:
    """The card of what was made, but for what only its files tell."""
    card = {**charged_run.card(num_rows=0), "constraints": made.retained, "seed": made.seed, **made.about_fit()}
    card["rows"] = {**card["rows"], **made.about_rows}
    card["release_kinds"] = kinds_of(type(r) for r in releases)
    return card


def learn_schema(
    table: Source | Mapping[str, Source] | None,
    *,
    schema: AnySchema,
    epsilon: float,
    delta: float,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    audience: Audience = EVERYBODY,
    **options: Any,
) -> AnySchema:
    """A complete schema from one that states names and kinds, its missing facts learnt for epsilon and delta.

    Facts that the schema states are kept, but for those of a draft that nobody has confirmed. The learnt ones are
    marked ``private``; the schema carries their price, which the card of every release made with it adds to its own.
    ``table``, ``audience``, ``options``: as of ``run``, as far as they concern rows, guarantee and ledger.
    ``reporter``: is told of progress. Of related tables, and of persons with several rows, one row of each unit is seen
    in each table.

    **Guarantee**: (epsilon, delta)-DP for the relation on the schema's unit; a ledger entry of its own. Errors: as
    ``run``; InputError when nothing is missing.

    Privacy: reads rows, under noise.
    """
    check_schema(schema, tree=True)
    request, rows = requested(table, epsilon=epsilon, delta=delta, learn_share=1.0, device="cpu", **options)
    return carry_out_learning(request, schema=schema, rows=rows, noise=noise, reporter=reporter, audience=audience)


def carry_out_learning(
    request: RunRequest,
    *,
    schema: AnySchema,
    rows: Source | Mapping[str, Source] | None = None,
    noise: SystemNoise | None = None,
    reporter: Reporter | None = None,
    audience: Audience = EVERYBODY,
) -> AnySchema:
    """As ``learn_schema``, of a request that stands already."""
    reporter = reporter or Quiet()
    schema = to_learn(schema, False, reporter.note)
    if not lacking(schema):
        raise InputError("the schema states every fact already; leave out the categories or bounds to be learnt")
    paying = checked_and_charged(request, schema, rows=rows, noise=noise, reporter=reporter, audience=audience)
    with paying as charged_run:
        result: AnySchema = charged_run.learn()
        return result
