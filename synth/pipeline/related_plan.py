"""A run of related tables: everything about it that can be refused before its spend; what comes out is a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import BudgetError, InputError, UsageError
from synth.generators.nested_mixture.generator import Nested
from synth.jobs import give_back
from synth.pipeline import same_rows
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.methods import granted, resolve_device
from synth.pipeline.prepare import NO_POLICY
from synth.pipeline.private_rows import Rows, check_known
from synth.pipeline.rehearsal import MARGIN
from synth.pipeline.request import Note, RunRequest
from synth.pipeline.run_plan import spend_line
from synth.pipeline.same_rows import MaySpend, anybody
from synth.pipeline.schema_approval import confirmed
from synth.privacy.accounting.guarantee import caution
from synth.privacy.curator import Curator, Grant
from synth.privacy.ledger.config import command as cap_command
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.privacy.noise import SeededNoise, SystemNoise
from synth.privacy.relation import Adjacency, relation_named
from synth.release import related_folder
from synth.schema.enforcement import Rules
from synth.schema.related import Related, number_of
from synth.schema.related import parse as parse_related
from synth.schema.table import UNCONFIRMED, Schema
from synth.sources import public_tables
from synth.sources.formats.text_table import Table
from synth.sources.named_databases import identity
from synth.sources.related_tables import allowed_empty, places, text_columns
from synth.sources.rows.forest import Branch, Forest
from synth.sources.table_source import Place

SINGLE = ("target", "unit", "max_rows", "learn_share", "ask", "options")  # options of single tables alone
ROOTS = 64  # made-up roots of a rehearsal


@dataclass(frozen=True, kw_only=True)
class RelatedPlan:
    """A checked request: ``rows`` says of each table where it is and which columns are read."""

    request: RunRequest
    schema: Related
    rows: Mapping[str, Rows]
    questions: Nested
    grant: Grant
    dataset: str
    device: str
    book: Ledger
    public: Mapping[str, Table]
    learn_share: float = 0.0

    def alone(self, name: str) -> Rows:
        """A table's measured columns, as a run on it alone reads them: by these its rows are known there."""
        return Rows(place=self.rows[name].place, columns=list(self.schema.tables[name].measured()))

    @property
    def engine(self) -> str:
        """What reads the tables, for ledger and card."""
        return "+".join(sorted({r.place.engine for r in self.rows.values()}))

    def check(self) -> None:
        """The questions, rehearsed on made-up roots with a real curator. Errors: UsageError.

        As for a single table a part of the noise's precision is held back: real answers may lead to more tables.
        """
        held = replace(self.grant, float_slack=self.grant.float_slack * MARGIN)
        curator = Curator(
            grant=held,
            commit=lambda: None,
            read=lambda: made_up(self.schema),
            mechanisms=mechanisms(),
            noise=SeededNoise(0),
        )
        asked = setting(self.schema.learnt(self.schema.root), self.grant, public_rows=None)
        try:
            self.questions.measure(curator.ask, self.schema, asked, progress=lambda _: None)
        except BudgetError as error:
            raise UsageError(str(error)) from None

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        question: dict[str, Any] = {
            "method": self.questions.name,
            "tables": {n: list(s.measured()) for n, s in self.schema.tables.items()},
            "keys": [k.model_dump(mode="json", exclude_none=True) for k in self.schema.keys],
            "mu": self.grant.mu,
            "sensitivity": setting(self.schema.learnt(self.schema.root), self.grant, public_rows=None).sensitivity,
            "max_rows": 1,
        }
        return spend_line(self, question, engine=self.engine, noise_source=noise_source)


def prepare(
    request: RunRequest,
    schema: Related,
    *,
    rows: Mapping[str, object] | None = None,
    note: Note,
    noise: SystemNoise,
    may_spend: MaySpend = anybody,
    questions: Nested | None = None,
) -> RelatedPlan:
    """A finished plan, or the reason why not: options, schema, budget, questions, the tables' form, whose rows.

    **Guarantee**: nothing is spent, and nothing that depends on a row's cells is kept or told. Errors: UsageError,
    InputError, BudgetError.
    """
    plan = planned(request, schema, rows=rows, note=note)
    plan = plan if questions is None else replace(plan, questions=questions)
    related_folder.check_out(Path(request.out) if request.out is not None else None, plan.schema)
    plan.book.check(plan.spend(noise_source=noise.name))
    plan.check()
    plan.book.row_key()  # as of a single table
    if said := caution(request.delta):
        note(said)
    if plan.book.policy(plan.dataset) is None:
        note(NO_POLICY.format(plan.dataset, f"cap it with {cap_command(plan.dataset)}"))
    for name, table in plan.rows.items():
        with allowed_empty(plan.schema, name):
            table.check_form()
    if not request.separate:
        for name, table in plan.rows.items():
            for rows_of in (table, plan.alone(name)):
                with allowed_empty(plan.schema, name):
                    same_rows.check(rows_of, plan.book, dataset=plan.dataset, may_spend=may_spend)
    give_back()
    return plan


def planned(
    request: RunRequest, schema: Related, *, rows: Mapping[str, object] | None = None, note: Note
) -> RelatedPlan:
    """The plan as far as request, schema and ledger tell. Opens no table. Errors: UsageError, InputError."""
    relation = relation_named(request.relation)
    for name in SINGLE:
        if getattr(request, name):
            raise UsageError(f"--{name.replace('_', '-')}: related tables have no such option yet; leave it out")
    if request.method != Nested.name:
        raise UsageError(f"method {request.method}: related tables are made by the method {Nested.name} alone")
    schema = approved(schema, request, note=note)
    for table in schema.tables.values():
        Rules(table)
    tables = request.table if rows is None else rows
    if request.source is not None and rows is not None:
        raise UsageError("--source: the tables are those there; give none beside it")
    if request.source is None and tables is None:
        raise UsageError("TABLE is missing; name a folder with a file for each table, or a database with --source")
    private, public = (tables, {}) if request.source is not None else public_tables.split(tables, schema)
    found = places(private, schema, request.source)  # type: ignore[arg-type]
    adjacency = Adjacency(relation=relation, unit=schema.root)
    declared, book = request.dataset or schema.dataset, Ledger(request.ledger)
    dataset = _dataset(tables, declared, request.source)
    if request.source is not None and not (declared or request.separate):
        check_known(dataset, book)
    return RelatedPlan(
        request=request,
        schema=schema,
        rows={n: _rows(schema, n, place) for n, place in found.items()},
        questions=Nested(),
        public=public,
        grant=granted(request.epsilon, request.delta, adjacency, learning=False),
        dataset=dataset,
        device=resolve_device(request.device),
        book=book,
    )


def charged_before(
    tables: str | Path,
    *,
    schema: Related,
    dataset: str | None = None,
    ledger: str | Path | None = None,
    may_spend: MaySpend = anybody,
) -> list[str]:
    """Other datasets to which rows of one of these tables were charged, with or without their keys.

    ``tables``, ``schema``, ``dataset``, ``ledger``, ``may_spend``: as of ``run``.

    Errors: UsageError, InputError for a table that is absent.

    Privacy: reads rows, exact: the answer is about membership, and for people who may spend on both datasets.
    """
    told = RunRequest(table=tables, epsilon=1.0, delta=1e-6, dataset=dataset, ledger=ledger)
    plan = planned(told, schema, note=lambda _: None)
    found: dict[str, None] = {}
    for name, rows in plan.rows.items():
        for one in (rows, plan.alone(name)):
            with allowed_empty(schema, name):
                twins = same_rows.others(one, plan.book, dataset=plan.dataset, may_spend=may_spend)
            found |= dict.fromkeys(twins)
    return list(found)


def _rows(schema: Related, table: str, place: Place) -> Rows:
    own = schema.tables[table]
    columns = dict.fromkeys([*own.measured(), *text_columns(schema, table)])
    return Rows(place=place.under(own), columns=list(columns))


def _dataset(tables: str | Path | Mapping[str, object] | None, declared: str | None, source: str | None) -> str:
    """Errors: UsageError for tables that have no name."""
    if declared:
        return declared
    if source is not None:
        return identity(source) + (f"/{tables}" if tables else "")
    assert tables is not None
    if isinstance(tables, Mapping):
        raise UsageError(
            "tables given one by one have no common name; give dataset=..., or name the dataset in the schema"
        )
    return Path(tables).resolve().name


def approved(schema: Related, request: RunRequest, *, note: Note) -> Related:
    """The schema if somebody vouches for every fact; columns are named TABLE.COLUMN. Errors: InputError, UsageError."""
    check_vouched(schema)
    vouched, reasons = request.assume_public, request.reasons
    for one in [*([] if isinstance(vouched, bool) else vouched), *reasons]:
        owner, _, column = one.partition(".")
        if owner not in schema.tables or column not in schema.tables[owner].columns:
            raise UsageError(f"{one}: the schema has no such column; write TABLE.COLUMN")
    tables = {}
    for name, table in schema.tables.items():
        own = vouched if isinstance(vouched, bool) else [v.split(".", 1)[1] for v in vouched if _of(v, name)]
        because = {v.split(".", 1)[1]: text for v, text in reasons.items() if _of(v, name)}
        tables[name] = confirmed(
            table.model_copy(update={"unit_source": None}),
            assume_public=own,
            reasons=because,
            max_categories=request.max_categories,
            note=_noting(note, name),
            of=f"{name}.",
        )
    plain = schema.model_dump(exclude_none=True, exclude={"tables"})
    return parse_related({**plain, "tables": {n: t.model_dump(exclude_none=True) for n, t in tables.items()}})


def check_vouched(schema: Related) -> None:
    """Errors: InputError for keys or references that a draft proposed, and for facts that were learnt from rows.

    A table's facts are learnt for a unit of its own, a row or a person; what they cost a row of the root is not known.
    """
    for key in schema.keys:
        if key.source == UNCONFIRMED:
            raise InputError(
                f"schema: nobody has confirmed that {key.child} belongs to {key.parent} by {', '.join(key.columns)} "
                f"with at most {key.most_children} rows each, a draft's proposal read off private rows: correct it and "
                'set the key\'s "source" to "declared"'
            )
    for name, public in (schema.public or {}).items():
        if public.source == UNCONFIRMED:
            raise InputError(f'schema: nobody has confirmed that {name} is public: set its "source" to "declared"')
    for name, table in schema.tables.items():
        if table.learnt is not None or any(c.source == "private" for c in table.columns.values()):
            raise InputError(
                f"table {name}: its schema holds facts learnt from rows for a unit of its own, whose "
                "price for a row of the root is not known; state them, or learn nothing"
            )


def _noting(note: Note, table: str) -> Note:
    """Notes that name the table."""
    return lambda text: note(f"{table}: {text}")


def _of(name: str, table: str) -> bool:
    return name.partition(".")[0] == table


def made_up(schema: Related, roots: int = ROOTS) -> Forest:
    """A forest of uniform values that the schema allows, from no private row: each bound is reached."""
    rng = np.random.default_rng(0)
    found: dict[str, Branch] = {}
    for name in schema.downwards:
        key = schema.key_above(name)
        if key is None:
            parent, siblings = np.zeros(roots, dtype=np.int64), np.ones(roots, dtype=np.int64)
            rank, parts = siblings - 1, siblings
        else:
            number = found[key.parent].columns[number_of(name)]
            parent = np.repeat(np.arange(len(number)), number)
            siblings = number[parent]
            rank = np.arange(len(parent)) - np.repeat(np.cumsum(number) - number, number)
            parts = found[key.parent].parts[parent] * siblings
        columns = _uniform(schema.learnt(name), len(parent), rng)
        found[name] = Branch(columns=columns, parent=parent, siblings=siblings, rank=rank, parts=parts)
    return Forest(found, {n: (k.parent if (k := schema.key_above(n)) else None) for n in schema.tables})


def _uniform(schema: Schema, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {n: rng.integers(c.cells, size=size) for n, c in schema.columns.items()}
