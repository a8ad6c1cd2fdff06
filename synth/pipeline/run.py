"""One run: schema -> [curator] -> releases -> model -> rows -> files.

Everything that can be refused without a spend is refused first (prepare.py), then the ledger line is written, then rows
are read (charge.py). From the last answer on, all is post-processing.
"""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Unpack

from synth.errors import InputError
from synth.generators.method import Method
from synth.jobs import PeakMemory, give_back
from synth.pipeline.charge import charge
from synth.pipeline.fit_and_draw import fit_and_sample, write
from synth.pipeline.learn_schema import lacking
from synth.pipeline.prepare import Context, Options
from synth.pipeline.prepare import requested as requested
from synth.pipeline.private_rows import Source
from synth.pipeline.rehearsal import Preview
from synth.pipeline.reporting import STAGES as STAGES
from synth.pipeline.reporting import watched
from synth.pipeline.request import RunRequest
from synth.pipeline.result import Result
from synth.pipeline.schema_approval import AnySchema, check_left, to_learn
from synth.schema.dataset import Dataset
from synth.schema.given import check_schema
from synth.schema.table import Schema


def run(
    table: Source | Mapping[str, Source],
    *,
    schema: Schema | Dataset,
    epsilon: float,
    delta: float,
    **options: Unpack[Options],
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
    request, context = requested(table, epsilon=epsilon, delta=delta, **options)
    with watched() if options.get("reporter") is None else nullcontext(context.reporter) as reporter:
        return carry_out(request, schema, replace(context, reporter=reporter))


def carry_out(
    request: RunRequest,
    schema: Schema | Dataset,
    context: Context,
    *,
    questions: Method | None = None,
    preview: Preview | None = None,
) -> Result:
    """As ``run``, of a request that stands already. ``questions``, ``preview``: as of ``charge``."""
    check_left(request.learn_share)
    clock, reporter = time.perf_counter(), context.reporter
    with PeakMemory() as peak, charge(request, schema, context, questions=questions, preview=preview) as paid:
        plan, started = paid.plan, time.perf_counter()
        paid.learn()
        releases, setting = paid.measure()
        give_back()  # the rows are gone: what held them must not stand beside the fit's and the table's memory
        made = fit_and_sample(
            plan.questions, releases, setting, reporter, request, device=plan.device, given=paid.given
        )
        seconds = time.perf_counter() - started
        card = made.on_card(paid.card(), releases)
        paths = write(request, made, releases, setting, card, reporter, public=plan.public)
    return Result(
        method=plan.questions.name,
        relation=str(plan.grant.adjacency.relation),
        dataset=plan.dataset,
        epsilon_spent=request.epsilon,
        epsilon_derived=paid.epsilon_derived,
        delta=request.delta,
        seconds=seconds,
        seconds_total=time.perf_counter() - clock,
        peak_mib=peak.mib,
        device=plan.device,
        paths=paths,
        card=card,
        schema=paid.schema.stated,
        **made.for_result,
    )


def learn_schema(
    table: Source | Mapping[str, Source] | None,
    *,
    schema: AnySchema,
    epsilon: float,
    delta: float,
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
    request, context = requested(table, epsilon=epsilon, delta=delta, learn_share=1.0, device="cpu", **options)
    return carry_out_learning(request, schema, context)


def carry_out_learning(request: RunRequest, schema: AnySchema, context: Context) -> AnySchema:
    """As ``learn_schema``, of a request that stands already."""
    schema = to_learn(schema, False, context.reporter.note)
    if not lacking(schema):
        raise InputError("the schema states every fact already; leave out the categories or bounds to be learnt")
    with charge(request, schema, context) as paid:
        result: AnySchema = paid.learn()
        return result
