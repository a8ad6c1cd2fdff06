"""Everything about a run that can be refused before its spend; what comes out is a finished plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from pathlib import Path
from typing import Any, TypedDict

from synth.errors import InputError, UsageError
from synth.generators import GENERATORS, TREES
from synth.generators.method import Method
from synth.jobs import give_back
from synth.mechanisms import counts
from synth.pipeline import rehearsal, same_rows, totals
from synth.pipeline.learn_schema import is_bare
from synth.pipeline.methods import check_pure, generator_named, granted, is_gaussian, resolve_device
from synth.pipeline.priors import LOST, Encoded, Prior, check_apart, encoded, stated
from synth.pipeline.private_rows import PrivateRows, Source, charged_to, check_known, located, marked, wanted
from synth.pipeline.rehearsal import Preview
from synth.pipeline.reporting import Quiet, Reporter
from synth.pipeline.request import RunOptions, RunRequest
from synth.pipeline.schema_approval import adjacency_of, approved
from synth.pipeline.uses import NOT_BY
from synth.privacy.accounting.guarantee import caution
from synth.privacy.curator import Grant
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.privacy.ledger.policy import cap_command
from synth.privacy.ledger.row_marks import EVERYBODY, Audience
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency, Relation, relation_named
from synth.release import dialect_copy, folder
from synth.schema.constraints import columns_of
from synth.schema.dataset import ONE, Dataset, as_tables
from synth.schema.enforcement import Rules
from synth.schema.table import Schema
from synth.sources.formats.text_table import Table
from synth.sources.related_tables import allowed_empty, with_combinations
from synth.sources.table_source import FilePlace


@dataclass(frozen=True, kw_only=True)
class Context:
    """``rows``: in memory, or several places by table, where the request names no table. ``noise``: other than the
    system's in tests alone. ``reporter``: is told of progress. ``audience``: what of the rows may be told.
    ``log``: the steward's private file for the counts of cells outside the schema. ``questions``: in place of the
    method's usual ones. ``preview``: that the rows are public, and what stands in for the priors that are named."""

    rows: Any = None
    noise: SystemNoise = field(default_factory=SystemNoise)
    reporter: Reporter = field(default_factory=Quiet)
    audience: Audience = EVERYBODY
    log: str | Path | None = None
    questions: Method | None = None
    preview: Preview | None = None


class Beside(TypedDict, total=False):
    """Keywords of all that charges, beside those of its request: as of ``synth.run``.

    Privacy: public only.
    """

    noise: SystemNoise | None
    reporter: Reporter | None
    audience: Audience
    steward_log: str | Path | None


class Options(RunOptions, Beside):
    """All keywords of what charges.

    Privacy: public only.
    """


def requested(table: Any, *, steward_log: str | Path | None = None, **options: Any) -> tuple[RunRequest, Context]:
    """The request and what is handed over beside it, rows in memory among that. Errors: UsageError."""
    named = isinstance(table, str | Path)
    beside = {n: v for n in ("noise", "reporter", "audience") if (v := options.pop(n, None)) is not None}
    context = Context(rows=None if named else table, log=steward_log, **beside)
    return RunRequest(table=table if named else None, **options), context


@dataclass(frozen=True, kw_only=True)
class RunPlan:
    """A checked request: ``questions`` of the complete schema, within ``grant``, charged to ``dataset`` in ``book``.

    ``rows``: by table; ``public``: tables to which private rows refer. ``priors``: public tables like the private one,
    encoded where the schema was complete before the run. ``preview``: what the card says of a run on public rows.
    """

    request: RunRequest
    rows: Mapping[str, PrivateRows]
    schema: Schema | Dataset
    questions: Method
    grant: Grant
    learn_share: float = 0.0
    dataset: str
    device: str
    book: Ledger
    public: Mapping[str, Table] = field(default_factory=dict)
    priors: tuple[Prior | Encoded, ...] = ()
    preview: Mapping[str, Any] | None = None

    @property
    def engine(self) -> str:
        """What reads the rows, for ledger and card."""
        return "+".join(sorted({r.place.engine for r in self.rows.values()}))

    def check(self) -> None:
        """All that the method and the curator would refuse, rehearsed on made-up rows. Errors: UsageError."""
        share, alone = self.learn_share, self.learn_share in (0, 1)
        schema, asked = self.schema, self.questions if share < 1 else None
        if share > 0:
            own = rehearsal.share(self.grant, share, failures=True, alone=alone)
            schema, _ = rehearsal.learning(asked, schema, own, self.grant.mu * sqrt(share))
        if asked is not None:
            left = rehearsal.share(self.grant, 1 - share, failures=False, alone=alone)
            rehearsal.rehearse(asked, schema, left, priors=tuple(p for p in self.priors if isinstance(p, Encoded)))

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        request, adjacency, schema = self.request, self.grant.adjacency, self.schema
        if schema.several:
            keys = [k.model_dump(mode="json", exclude_none=True) for k in schema.keys]
            asked: dict[str, Any] = {"tables": {n: list(s.measured()) for n, s in schema.tables.items()}, "keys": keys}
        else:
            table = schema.written[ONE]
            asked = {"columns": list(table.measured()), "target": table.target}
            asked |= {} if schema.tree is None else {"linked": True}
        question = {
            "method": self.questions.name,
            **asked,
            **({"learns": True} if self.learn_share == 1 else {}),
            **({"mu": self.grant.mu} if is_gaussian(self.questions) else {}),
            "sensitivity": counts.sensitivity(adjacency),
            "max_rows": adjacency.max_rows,
            **({"public_columns": adjacency.public_columns} if adjacency.public_columns else {}),
        }
        actor = request.actor or request.owner
        named = {"actor": actor} if actor else {}
        return Spend(
            dataset=self.dataset,
            epsilon=self.grant.epsilon,
            delta=self.grant.delta,
            relation=adjacency.stated,
            unit=adjacency.unit,
            engine=self.engine,
            noise_source=noise_source,
            question=question,
            approved_by=request.approved_by,
            run=request.run,
            **named,
        )


WORKBOOKS = (".xlsx", ".xlsm", ".xls")
IN_WORDS = (
    "the private cells of one row replaced by any others; its public columns ({}), the number and the order of the "
    "rows stay as they are"
)


def check_public_columns(schema: Schema | Dataset, questions: Method, adjacency: Adjacency, asked: Any) -> None:
    """Errors: UsageError, InputError for what a run with public columns cannot have. ``asked``: the run's request.

    Proof: synth/schema/public_facts.md. Neighbouring tables differ in the private cells of one row, so that what passes
    through is the same in both, and each answer moves by no more than where a whole row is replaced.

    Privacy: public only.
    """
    for name, table in schema.tables.items() if schema.tree is not None else ():
        if table.public_columns:
            raise InputError("public columns of table {}: related tables have none yet; leave out their role", name)
    names, table = schema.public_columns, schema.tables[schema.root]
    if not names:
        return
    named = ", ".join(names)
    if not questions.gives_rows:
        raise UsageError("method {} makes no rows given public columns ({}); choose mixture", questions.name, named)
    if adjacency.relation is not Relation.REPLACE_ONE or not adjacency.by_row:
        raise UsageError(
            "public columns ({}) pass through row by row, which shows how many rows there are and their order; they "
            "need `relation=replace_one`, with single rows as units",
            named,
        )
    if asked.source is not None:
        raise UsageError("public columns ({}) need rows in an order, which a database has not; name a file", named)
    if str(asked.table or "").lower().endswith(WORKBOOKS):
        raise UsageError(
            "public columns ({}): a workbook's empty rows are none, so that its rows have no fixed number; save the "
            "table as CSV or Parquet",
            named,
        )
    if asked.num_rows is not None:
        raise UsageError("`num_rows={}`: public columns ({}) say how many rows; leave it out", asked.num_rows, named)
    if table.totals:
        raise InputError("schema: totals and public columns ({}) do not go together yet; leave one of them out", named)
    if set(names) == set(table.measured()):
        raise InputError("schema: every column is public ({}); nothing is left to protect", named)
    for number, rule in enumerate(table.constraints or (), start=1):
        if columns_of(rule)[-1] in names:
            raise InputError(
                "schema: constraint {} ({}) is mended by changing {}, which is public; name a private column last",
                number,
                rule.kind,
                columns_of(rule)[-1],
            )


def on_card(schema: Schema | Dataset) -> dict[str, Any]:
    """What the card says of public columns; nothing where there are none."""
    names = schema.public_columns
    if not names:
        return {}
    return {
        "public_columns": {n: schema.all_columns[n].reason for n in names},
        "relation_in_words": IN_WORDS.format(", ".join(names)),
    }


ALONE = "leave it out, or make rows that stand alone with `linked=False`"
UNSEEN = (
    "public tables are compared with the private ones before a run, and with a file of roles the answer is for whoever "
    "may spend; start the run in the application, or leave them out"
)
HELD = "`out={}`: it holds a release, which was paid for; name another folder, or say `replace=True`"
NO_POLICY = "no policy for {}: nothing is capped; {}"
SINGLE = ("target", "unit", "max_rows", "linked", "ask", "options")  # of single tables alone


def prepare(request: RunRequest, schema: Schema | Dataset, context: Context) -> RunPlan:
    """A finished plan, or the reason why not: options, schema, budget, questions, the tables' form, whose rows.

    Rows like those of another dataset in the ledger, as far as the context's audience may know, are refused unless the
    request says that they are ``separate``.

    **Guarantee**: nothing is spent, and nothing that depends on a row's cells is kept or told. Errors: UsageError,
    InputError, BudgetError.
    """
    audience, note, preview = context.audience, context.reporter.note, context.preview
    out = Path(request.out) if request.out is not None else None
    folder.check_out(out, schema)
    if out is not None and not request.replace and (out / "card.json").exists():
        raise UsageError(HELD, out)
    plan = planned(request, schema, context)
    known: tuple[Prior, ...] = ()
    if preview is not None:
        plan = replace(plan, priors=preview.priors, preview=preview.card)
    elif request.prior:
        known = stated(request.prior, request.prior_reason, plan.schema, plan.questions, ledger=plan.book.store)
        plan = replace(plan, priors=known if plan.learn_share else encoded(known, plan.schema))
    for one in plan.priors:
        if isinstance(one, Encoded) and one.lost:
            note(LOST.format(one.name, one.lost))
    plan.book.check(plan.spend(noise_source=context.noise.name))
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
            table.place.check_form(table.columns)  # keeps no value
    if audience.spends(plan.dataset):
        check_apart(known, plan.rows, plan.schema, plan.book, audience)
        for name, public in plan.public.items():
            same_rows.check_public([public], plan.book, what=f"public table {name}", audience=audience)
    elif preview is None and (plan.public or any(p.release is None for p in known)):
        raise UsageError(UNSEEN)  # whatever the rows are
    if not request.separate:
        for name, table in marked(plan.rows, plan.schema):
            with allowed_empty(plan.schema, name):
                same_rows.refuse(same_rows.others(table, plan.book, dataset=plan.dataset, audience=audience))
    give_back()  # what the pass over the file used
    return plan


def planned(request: RunRequest, schema: Schema | Dataset, context: Context) -> RunPlan:
    """The plan as far as request, schema and ledger tell. Opens no table. Errors: UsageError, InputError."""
    rows, note = context.rows, context.reporter.note
    relation = relation_named(request.relation)
    asked = _questions(request, relation, schema, context.questions)
    tables = request.table if rows is None else rows
    located_at, public = located(tables, schema, request.source, given=rows is not None)
    linked = _linked(request, schema)
    agreed: Any
    agreed, share = approved(schema, request, note=note)
    if linked != agreed.linked_rows and request.linked is not None and (linked or agreed.person is not None):
        agreed = agreed.model_copy(update={"linked": linked})
    schema = as_tables(agreed) if linked else agreed
    schema = with_combinations(schema, public)
    adjacency = adjacency_of(schema, relation)
    adjacency = replace(adjacency, max_rows=1) if share == 1 else adjacency  # of a unit learning alone sees one row
    if request.delta == 0 and share > 0:
        raise UsageError("delta 0: what a schema lacks is learnt with a threshold that may fail; give a delta of 1e-6")
    if request.delta == 0:
        check_pure(asked)
    was = schema.learnt
    if was is not None and (was.relation, was.unit) != (adjacency.stated, adjacency.unit):
        raise UsageError(
            "the schema was learnt under {} with unit {}, this run asks for {} with unit {}; epsilons under "
            "different relations or units do not add up: learn the schema again, or use the same ones",
            was.relation,
            was.unit,
            adjacency.stated,
            adjacency.unit,
        )
    if asked.needs_public_rows and not adjacency.rows_are_public:
        raise UsageError(
            "method {} with these options reveals the number of rows; it needs `relation=zero_out` or replace_one, "
            "with single rows as units",
            asked.name,
        )
    for table in schema.tables.values():
        Rules(table if share == 0 else _stated(table))
    if share == 0:
        asked.check_schema(schema)
    check_public_columns(schema, asked, adjacency, request)
    for table in () if schema.several else schema.written.values():
        dialect_copy.check(table, request.dialect if request.out is not None else "plain")
        if request.out is not None:
            folder.check_room(Path(request.out), table, request.num_rows)
    if schema.uses and not asked.takes_uses:
        note(NOT_BY.format(asked.name))
    book = Ledger(request.ledger)
    declared = request.dataset or schema.dataset
    dataset = charged_to(tables, located_at, schema, request.dataset, request.source, book)
    place = next(iter(located_at.values()))
    if not (declared or request.separate or isinstance(place, FilePlace) or place.name is None):
        check_known(dataset, book)
    return RunPlan(
        request=request,
        rows=wanted(located_at, schema),
        schema=schema,
        questions=asked,
        grant=granted(request.epsilon, request.delta, adjacency, learning=share > 0),
        learn_share=share,
        dataset=dataset,
        device=resolve_device(request.device, asked),
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
    located_at, _ = located(table, schema, source, given=isinstance(table, Mapping))
    charged = charged_to(table, located_at, schema, dataset, source, book)
    names: dict[str, None] = {}
    for name, rows in marked(wanted(located_at, schema), schema):
        with allowed_empty(schema, name):
            names |= dict.fromkeys(same_rows.others(rows, book, dataset=charged, audience=audience))
    return list(names)


def _questions(request: RunRequest, relation: Relation, schema: Schema | Dataset, given: Method | None) -> Method:
    """The questions ``given``, or the method's. Errors: UsageError for options that the tables do not have."""
    if schema.several:
        for name in SINGLE:
            if getattr(request, name):
                raise UsageError("`{}=`: related tables have no such option yet; leave it out", name)
    linked = _linked(request, schema)
    if linked and request.ask:
        raise UsageError("`ask=`: a table whose persons keep their rows has no such option yet; {}", ALONE)
    if given is not None:
        return given
    if request.ask:
        raise UsageError("`ask=`: is no option of a run that makes a table; see `synth.statistics`")
    if linked and request.method in GENERATORS and request.method not in TREES:
        raise UsageError(
            "method {}: makes rows that stand alone, and persons keep their rows by {}; choose one of these, or "
            "`linked=False`",
            request.method,
            ", ".join(TREES),
        )
    return generator_named(request.method, relation, request.options, tree=linked or schema.several)


def _linked(request: RunRequest, schema: Schema | Dataset) -> bool:
    """Whether one table's persons are to keep their rows; answers are asked of rows alone."""
    if schema.several or (request.ask and not request.linked) or request.learn_share == 1:
        return False
    return schema.linked_rows if request.linked is None else request.linked


def _stated(table: Schema) -> Schema:
    """The table without columns whose facts are to be learnt first, and the rules that name them."""
    lacks = {n for n, c in table.columns.items() if is_bare(c)}
    columns = {n: c.model_copy(update={"within": None}) for n, c in table.columns.items() if n not in lacks}
    rules = tuple(r for r in table.constraints or () if lacks.isdisjoint(columns_of(r)))
    return table.model_copy(update={"columns": columns, "constraints": rules or None})
