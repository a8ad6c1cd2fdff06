"""A run of related tables: what is asked for, and everything about it that can be refused before a row is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import BudgetError, UsageError
from synth.generators.nested_mixture.generator import Nested
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.request import Note, Rows, check_num_rows, check_seed, check_texts, granted, resolve_device
from synth.pipeline.schema_approval import confirmed
from synth.privacy.accounting import composition
from synth.privacy.curator import Curator, Grant
from synth.privacy.ledger.ledger import Spend
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Adjacency, relation_named
from synth.schema.enforcement import Rules
from synth.schema.related import Related, number_of
from synth.schema.related import parse as parse_related
from synth.schema.table import MAX_CATEGORIES, Schema
from synth.sources.related_tables import places, text_columns
from synth.sources.rows.forest import Branch, Forest
from synth.sources.table_source import Place

ROOTS = 64  # made-up roots of a rehearsal


@dataclass(frozen=True, kw_only=True)
class RelatedRequest:
    """The public options of a run; ``related_run.run`` says what each means."""

    epsilon: float
    delta: float
    method: str = "mixture"
    relation: str = "add_remove"
    num_rows: int | None = None
    dataset: str | None = None
    seed: int | None = None
    device: str = "auto"
    assume_public: bool | Sequence[str] = False
    reasons: Mapping[str, str] = field(default_factory=dict)
    max_categories: int = MAX_CATEGORIES
    actor: str | None = None
    approved_by: str | None = None
    run: str | None = None
    separate: bool = False
    target: str | None = None
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class RelatedJob:
    """A checked request: ``rows`` says of each table where it is and which columns are read."""

    request: RelatedRequest
    schema: Related
    rows: Mapping[str, Rows]
    generator: Nested
    grant: Grant
    dataset: str
    device: str
    learn_share: float = 0.0

    @property
    def engine(self) -> str:
        """What reads the tables, for ledger and card."""
        return "+".join(sorted({r.place.engine for r in self.rows.values()}))

    def check(self) -> None:
        """The questions, rehearsed on made-up roots with a real curator. Errors: UsageError."""
        curator = Curator(grant=self.grant, commit=lambda: None, read=lambda: made_up(self.schema),
                          mechanisms=mechanisms(), noise=SeededNoise(0))  # fmt: skip
        asked = setting(self.schema.learnt(self.schema.root), self.grant, public_rows=None)
        try:
            self.generator.measure(curator.ask, self.schema, asked, progress=lambda _: None)
        except BudgetError as error:
            raise UsageError(str(error)) from None

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        question: dict[str, Any] = {
            "method": self.generator.name,
            "tables": {n: list(s.measured()) for n, s in self.schema.tables.items()},
            "keys": [k.model_dump(mode="json", exclude_none=True) for k in self.schema.keys],
            "mu": self.grant.mu,
            "sensitivity": setting(self.schema.learnt(self.schema.root), self.grant, public_rows=None).sensitivity,
            "max_rows": 1,
        }
        named = {"actor": self.request.actor} if self.request.actor else {}
        return Spend(
            dataset=self.dataset,
            epsilon=self.grant.epsilon,
            delta=self.grant.delta,
            relation=str(self.grant.near.relation),
            unit=self.grant.near.unit,
            engine=self.engine,
            noise_source=noise_source,
            question=question,
            approved_by=self.request.approved_by,
            run=self.request.run,
            **named,
        )


def prepare(
    tables: str | Path | Mapping[str, object], schema: Related, request: RelatedRequest, *, note: Note
) -> RelatedJob:
    """A job, or the reason why not. Opens no table. Errors: UsageError, InputError."""
    composition.check(request.epsilon, request.delta)
    relation = relation_named(request.relation)
    if request.method != Nested.name:
        raise UsageError(f"method {request.method}: related tables are made by the method {Nested.name} alone")
    check_num_rows(request.num_rows)
    check_seed(request.seed)
    check_texts(request)  # type: ignore[arg-type]
    schema = approved(schema, request, note=note)
    for table in schema.tables.values():
        Rules(table)
    found = places(tables, schema)
    near = Adjacency(relation=relation, unit=schema.root)
    return RelatedJob(
        request=request,
        schema=schema,
        rows={n: _rows(schema, n, place) for n, place in found.items()},
        generator=Nested(),
        grant=granted(request.epsilon, request.delta, near, learning=False),
        dataset=_dataset(tables, request.dataset or schema.dataset),
        device=resolve_device(request.device),
    )


def _rows(schema: Related, table: str, place: Place) -> Rows:
    own = schema.tables[table]
    columns = dict.fromkeys([*own.measured(), *text_columns(schema, table)])
    return Rows(place=place.under(own), columns=list(columns))


def _dataset(tables: str | Path | Mapping[str, object], declared: str | None) -> str:
    """Errors: UsageError for tables that have no name."""
    if declared:
        return declared
    if isinstance(tables, Mapping):
        raise UsageError("tables given one by one have no name to be charged under; give dataset=..., or name it in "
                         "the schema")  # fmt: skip
    return Path(tables).resolve().name


def approved(schema: Related, request: RelatedRequest, *, note: Note) -> Related:
    """The schema if somebody vouches for every fact; columns are named TABLE.COLUMN. Errors: InputError, UsageError."""
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
            table.model_copy(update={"unit_source": None}), assume_public=own, reasons=because,
            max_categories=request.max_categories, note=_noting(note, name),
        )  # fmt: skip
    plain = schema.model_dump(exclude_none=True, exclude={"tables"})
    return parse_related({**plain, "tables": {n: t.model_dump(exclude_none=True) for n, t in tables.items()}})


def _noting(note: Note, table: str) -> Note:
    """Notes that name the table."""
    return lambda text: note(f"{table}: {text}")


def _of(name: str, table: str) -> bool:
    return name.partition(".")[0] == table


def made_up(schema: Related) -> Forest:
    """A forest of uniform values that the schema allows, from no private row: each bound is reached."""
    rng = np.random.default_rng(0)
    found: dict[str, Branch] = {}
    for name in schema.downwards:
        key = schema.key_above(name)
        if key is None:
            parent, siblings = np.zeros(ROOTS, dtype=np.int64), np.ones(ROOTS, dtype=np.int64)
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
