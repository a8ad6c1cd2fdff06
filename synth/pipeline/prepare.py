"""Everything about a run that can be refused before its spend; what comes out is a finished plan."""

from pathlib import Path

from synth.errors import InputError, UsageError
from synth.generators.base import Questions
from synth.jobs import give_back
from synth.pipeline import same_rows
from synth.pipeline.methods import check_schema, generator_named, granted, resolve_device
from synth.pipeline.private_rows import Rows, Source, check_named, dataset_name, place_at
from synth.pipeline.request import Note, RunRequest
from synth.pipeline.run_plan import RunPlan
from synth.pipeline.same_rows import MaySpend, anybody
from synth.pipeline.schema_approval import (
    adjacency_of,
    check_learnt,
    confirmed,
    learning_share,
    to_learn,
    with_target,
    with_unit,
)
from synth.pipeline.statistics_questions import StatisticsQuestions
from synth.privacy.accounting.guarantee import caution
from synth.privacy.ledger.config import command as cap_command
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation, relation_named
from synth.release import dialect_copy, folder
from synth.schema.enforcement import Rules
from synth.schema.table import Schema

NO_POLICY = "no policy for {}: nothing is capped; {}"


def prepare(
    request: RunRequest,
    schema: Schema,
    *,
    rows: Source | None = None,
    note: Note,
    noise: SystemNoise,
    may_spend: MaySpend = anybody,
) -> RunPlan:
    """A finished plan, or the reason why not: options, schema, budget, questions, the table's form, whose rows.

    ``rows``: the table, where the request names none. Rows like those of another dataset in the ledger, on which
    ``may_spend`` says that the caller may spend, are refused unless the request says that they are ``separate``.

    **Guarantee**: nothing is spent, and nothing that depends on a row's cells is kept or told. Errors: UsageError,
    InputError, BudgetError.
    """
    folder.check_out(Path(request.out) if request.out is not None else None)
    plan = planned(request, schema, rows=rows, note=note)
    plan.book.check(plan.spend(noise_source=noise.name))
    plan.check()
    if said := caution(request.delta, request.num_rows):
        note(said)
    if plan.book.policy(plan.dataset) is None:
        new = "" if plan.book.known(plan.dataset) else "nothing was charged to it before; "
        note(NO_POLICY.format(plan.dataset, f"{new}cap it with {cap_command(plan.dataset)}"))
    plan.book.row_key()  # a damaged key is found now, not when the rows that were read are to be marked
    plan.rows.check_form()
    if not request.separate:
        same_rows.check(plan.rows, plan.book, dataset=plan.dataset, may_spend=may_spend)
    give_back()  # what the pass over the file used
    return plan


def planned(request: RunRequest, schema: Schema, *, rows: Source | None = None, note: Note) -> RunPlan:
    """The plan as far as request, schema and ledger tell. Opens no table. Errors: UsageError, InputError."""
    relation = relation_named(request.relation)
    questions = _questions(request, relation)
    if rows is None and request.table is None:
        raise UsageError("TABLE is missing; name a file, or a table at --source")
    place = place_at(request.table if rows is None else rows, request.source)
    schema, share = _agreed(request, schema, note)
    adjacency = adjacency_of(schema, relation)
    check_learnt(schema, adjacency)
    _check_method(questions, schema, adjacency, share)
    _check_writing(request, schema)
    book = Ledger(request.ledger)
    declared, separate = request.dataset or schema.dataset, request.separate
    dataset = dataset_name(place, declared, book=book)
    check_named(place, declared, dataset, book=book, separate=separate)
    return RunPlan(
        request=request,
        rows=Rows.of(place, schema),
        schema=schema,
        questions=questions,
        grant=granted(request.epsilon, request.delta, adjacency, learning=share > 0),
        learn_share=share,
        dataset=dataset,
        device=resolve_device(request.device, by_torch=questions.by_torch),
        book=book,
    )


def _questions(request: RunRequest, relation: Relation) -> Questions:
    return (
        StatisticsQuestions.of(request.ask)
        if request.ask
        else generator_named(request.method, relation, request.options)
    )


def _agreed(request: RunRequest, schema: Schema, note: Note) -> tuple[Schema, float]:
    """The schema that somebody answers for, and the share of mu**2 for what it lacks. Errors: as ``planned``."""
    if request.learn_share is not None:
        schema = to_learn(schema, request.assume_public, note)
    share = learning_share(schema, request.learn_share)
    schema = with_unit(with_target(schema, request.target), request.unit, request.max_rows)
    schema = confirmed(
        schema,
        assume_public=request.assume_public,
        reasons=request.reasons,
        max_categories=request.max_categories,
        note=note,
    )
    if not schema.measured():
        raise InputError("schema: every column is an identifier; there is nothing to learn")
    if schema.learnt is not None and 0 < share < 1:
        raise InputError(
            "schema: some of its facts were learnt before, at a price that does not add up with learning within a run; "
            "learn what is missing with `synth schema learn`, then run without --learn-share"
        )
    return schema, share


def _check_method(questions: Questions, schema: Schema, adjacency: Adjacency, share: float) -> None:
    """What the method has to say against relation and schema. Errors: UsageError."""
    if getattr(questions, "needs_public_rows", False) and not adjacency.rows_are_public:
        raise UsageError(
            f"method {questions.name} with these options reveals the number of rows; it needs --relation zero_out "
            "or replace_one, with single rows as units"
        )
    if share == 0:  # else the conditions can be read only once the facts are learnt
        Rules(schema)
        check_schema(questions, schema)


def _check_writing(request: RunRequest, schema: Schema) -> None:
    """What cannot be written as it is wished. Errors: UsageError."""
    dialect_copy.check(schema, request.dialect if request.out is not None else "plain")
    if request.out is not None:
        folder.check_room(Path(request.out), schema, request.num_rows)
