"""Everything about a run that can be refused before its spend; what comes out is a finished plan."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.errors import UsageError
from synth.generators import GENERATORS, TREES
from synth.generators.method import Method
from synth.jobs import give_back
from synth.pipeline import priors, public_columns, same_rows, totals
from synth.pipeline.learn_schema import is_bare
from synth.pipeline.methods import check_pure, generator_named, granted, resolve_device
from synth.pipeline.private_rows import Source, charged_to, check_named, located, marked, wanted
from synth.pipeline.public_twin import Preview
from synth.pipeline.request import Note, RunRequest
from synth.pipeline.run_plan import RunPlan
from synth.pipeline.schema_approval import (
    adjacency_of,
    check_learnt,
    vouched,
)
from synth.pipeline.uses import NOT_BY
from synth.privacy.accounting.guarantee import caution
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.policy import cap_command
from synth.privacy.ledger.row_marks import EVERYBODY, Audience
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation, relation_named
from synth.release import dialect_copy, folder
from synth.schema.constraints import columns_of
from synth.schema.dataset import Dataset
from synth.schema.enforcement import Rules
from synth.schema.persons import as_tables
from synth.schema.table import Schema
from synth.sources.public_tables import with_combinations
from synth.sources.related_tables import allowed_empty

ALONE = "leave it out, or make rows that stand alone with `linked=False`"
UNSEEN = (
    "public tables are compared with the private ones before a run, and with a file of roles the answer is for whoever "
    "may spend; start the run in the application, or leave them out"
)
NO_POLICY = "no policy for {}: nothing is capped; {}"
SINGLE = ("target", "unit", "max_rows", "linked", "ask", "options")  # of single tables alone


def prepare(
    request: RunRequest,
    schema: Schema | Dataset,
    *,
    rows: Source | Mapping[str, Source] | None = None,
    note: Note,
    noise: SystemNoise,
    audience: Audience = EVERYBODY,
    questions: Method | None = None,
    preview: Preview | None = None,
) -> RunPlan:
    """A finished plan, or the reason why not: options, schema, budget, questions, the tables' form, whose rows.

    ``rows``: the table or tables, where the request names none. ``questions``: in place of the method's usual ones.
    ``preview``: that the rows are public, and what stands in for the priors that the request names.
    Rows like those of another dataset in the ledger, as far as the ``audience`` may know, are refused
    unless the request says that they are ``separate``.

    **Guarantee**: nothing is spent, and nothing that depends on a row's cells is kept or told. Errors: UsageError,
    InputError, BudgetError.
    """
    folder.check_out(Path(request.out) if request.out is not None else None, schema)
    plan = planned(request, schema, rows=rows, note=note, questions=questions)
    known: tuple[priors.Prior, ...] = ()
    if preview is not None:
        plan = replace(plan, priors=preview.priors, preview=preview.card)
    else:
        known = priors.stated(request.prior, request.prior_reason, plan.schema, plan.questions, ledger=plan.book.store)
        plan = replace(plan, priors=known if plan.learn_share else priors.encoded(known, plan.schema))
    for one in plan.priors:
        if isinstance(one, priors.Encoded) and one.lost:
            note(priors.LOST.format(one.name, one.lost))
    plan = replace(plan, checked_at=plan.book.check(plan.spend(noise_source=noise.name)))
    plan.check()
    totals.check(plan.schema, request.num_rows)
    if said := caution(request.delta):
        note(said)
    if plan.book.policy(plan.dataset) is None:
        new = "" if plan.book.known(plan.dataset) else "nothing was charged to it before; "
        note(NO_POLICY.format(plan.dataset, f"{new}cap it with {cap_command(plan.dataset)}"))
    plan.book.row_key()  # a damaged key is found now, not when the rows that were read are to be marked
    for name, table in plan.rows.items():
        with allowed_empty(plan.schema, name):
            table.check_form()
    if audience.spends(plan.dataset):
        priors.check_apart(known, plan.rows, plan.schema, plan.book, audience)
        for name, public in plan.public.items():
            same_rows.check_public([public], plan.book, what=f"public table {name}", audience=audience)
    elif preview is None and (plan.public or any(p.release is None for p in known)):
        raise UsageError(UNSEEN)  # whatever the rows are
    if not request.separate:
        for name, table in marked(plan.rows, plan.schema):
            with allowed_empty(plan.schema, name):
                same_rows.check(table, plan.book, dataset=plan.dataset, audience=audience)
    give_back()  # what the pass over the file used
    return plan


def planned(
    request: RunRequest,
    schema: Schema | Dataset,
    *,
    rows: Source | Mapping[str, Source] | None = None,
    note: Note,
    questions: Method | None = None,
) -> RunPlan:
    """The plan as far as request, schema and ledger tell. Opens no table. Errors: UsageError, InputError."""
    relation = relation_named(request.relation)
    asked = _questions(request, relation, schema, questions)
    tables = request.table if rows is None else rows
    result, public = located(tables, schema, request.source, given=rows is not None)
    schema, share = _agreed(request, schema, note)
    schema = with_combinations(schema, public)
    adjacency = adjacency_of(schema, relation)
    adjacency = replace(adjacency, max_rows=1) if share == 1 else adjacency  # of a unit learning alone sees one row
    if request.delta == 0:
        _check_pure(asked, share)
    check_learnt(schema, adjacency)
    _check_method(asked, schema, adjacency, share)
    public_columns.check(schema, asked, adjacency, request)
    _check_writing(request, schema)
    if schema.uses and not asked.takes_uses:
        note(NOT_BY.format(asked.name))
    book = Ledger(request.ledger)
    declared = request.dataset or schema.dataset
    dataset = charged_to(tables, result, schema, request.dataset, request.source, book)
    check_named(next(iter(result.values())), declared, dataset, book=book, separate=request.separate)
    return RunPlan(
        request=request,
        rows=wanted(result, schema),
        schema=schema,
        questions=asked,
        grant=granted(request.epsilon, request.delta, adjacency, learning=share > 0),
        learn_share=share,
        dataset=dataset,
        device=resolve_device(request.device, by_torch=asked.by_torch),
        book=book,
        public=public,
    )


def charged_before(
    table: Source | Mapping[str, Source],
    *,
    schema: Schema | Dataset,
    dataset: str | None = None,
    source: str | None = None,
    ledger: str | Path | None = None,
    audience: Audience = EVERYBODY,
) -> list[str]:
    """Other datasets to which rows of the table, or of one of several, were charged, with or without their keys.

    Of a table that nobody has begun to charge. One pass over the rows, none without other datasets.
    ``table``, ``schema``, ``dataset``, ``source``, ``ledger``, ``audience``: as of ``run``.

    Errors: UsageError, InputError for a table that has no place.

    Privacy: reads rows, exact: the answer is about membership, and for people who may spend on both datasets.
    """
    book = Ledger(ledger)
    result, _ = located(table, schema, source, given=isinstance(table, Mapping))
    charged = charged_to(table, result, schema, dataset, source, book)
    names: dict[str, None] = {}
    for name, rows in marked(wanted(result, schema), schema):
        with allowed_empty(schema, name):
            names |= dict.fromkeys(same_rows.others(rows, book, dataset=charged, audience=audience))
    return list(names)


def _questions(request: RunRequest, relation: Relation, schema: Schema | Dataset, given: Method | None) -> Method:
    """The questions ``given``, or the method's. Errors: UsageError for options that the tables do not have."""
    if schema.several:
        for name in SINGLE:
            if getattr(request, name):
                raise UsageError(f"`{name}=`: related tables have no such option yet; leave it out")
    linked = _linked(request, schema)
    if linked and request.ask:
        raise UsageError(f"`ask=`: a table whose persons keep their rows has no such option yet; {ALONE}")
    if given is not None:
        return given
    if request.ask:
        raise UsageError("`ask=`: is no option of a run that makes a table; see `synth.statistics`")
    if linked and request.method in GENERATORS and request.method not in TREES:
        raise UsageError(
            f"method {request.method}: makes rows that stand alone, and persons keep their rows by {', '.join(TREES)}; "
            "choose one of these, or `linked=False`"
        )
    return generator_named(request.method, relation, request.options, tree=linked or schema.several)


def _linked(request: RunRequest, schema: Schema | Dataset) -> bool:
    """Whether one table's persons are to keep their rows; answers are asked of rows alone."""
    if schema.several or (request.ask and not request.linked) or request.learn_share == 1:
        return False
    return schema.linked_rows if request.linked is None else request.linked


def _agreed(request: RunRequest, schema: Any, note: Note) -> tuple[Any, float]:
    """The schema that somebody answers for, and the share of mu**2 for what it lacks; persons and rows as two tables.

    Errors: as ``planned``.
    """
    agreed, share = vouched(schema, request, note=note)
    linked = _linked(request, schema)
    if linked != agreed.linked_rows and request.linked is not None and (linked or agreed.person is not None):
        agreed = agreed.model_copy(update={"linked": linked})
    return (as_tables(agreed) if linked else agreed), share


def _check_method(questions: Method, schema: Schema | Dataset, adjacency: Adjacency, share: float) -> None:
    """What the method has to say against relation and schema. Errors: UsageError."""
    if questions.needs_public_rows and not adjacency.rows_are_public:
        raise UsageError(
            f"method {questions.name} with these options reveals the number of rows; it needs `relation=zero_out` "
            "or replace_one, with single rows as units"
        )
    for table in schema.tables.values():
        Rules(table if share == 0 else _stated(table))
    if share == 0:
        questions.check_schema(schema)


def _stated(table: Schema) -> Schema:
    """The table without columns whose facts are to be learnt first, and the rules that name them."""
    lacks = {n for n, c in table.columns.items() if is_bare(c)}
    columns = {n: c.model_copy(update={"within": None}) for n, c in table.columns.items() if n not in lacks}
    rules = tuple(r for r in table.constraints or () if lacks.isdisjoint(columns_of(r)))
    return table.model_copy(update={"columns": columns, "constraints": rules or None})


def _check_pure(questions: Method, share: float) -> None:
    """Errors: UsageError where a run with delta 0 would ask for what has no pure privacy."""
    if share > 0:
        raise UsageError("delta 0: what a schema lacks is learnt with a threshold that may fail; give a delta of 1e-6")
    check_pure(questions)


def _check_writing(request: RunRequest, schema: Schema | Dataset) -> None:
    """What cannot be written as it is wished. Errors: UsageError."""
    for table in () if schema.several else schema.written.values():
        dialect_copy.check(table, request.dialect if request.out is not None else "plain")
        if request.out is not None:
            folder.check_room(Path(request.out), table, request.num_rows)
