"""What is asked for, and everything about it that can be refused before a row is read."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd

from synth.errors import InputError, UsageError
from synth.generators import GENERATORS
from synth.generators.base import Generator
from synth.generators.options import options_of, with_options
from synth.mechanisms import counts
from synth.pipeline import rehearsal
from synth.pipeline.schema_approval import (
    adjacency,
    check_learnt,
    confirmed,
    learning_share,
    to_learn,
    with_target,
    with_unit,
)
from synth.privacy.accounting import composition
from synth.privacy.curator import Grant
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.privacy.relation import Adjacency, Relation, relation_named
from synth.schema.enforcement import Rules
from synth.schema.naming import dataset_of
from synth.schema.table import MAX_CATEGORIES, Schema, is_text
from synth.sources.engines.engine import Engine
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.table_source import FilePlace, Place, place_of

MOST_ROWS = 1_000_000_000  # of a synthetic table
Source: TypeAlias = str | Path | pd.DataFrame | Place
Note = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Request:
    """The public options of a run; ``pipeline.run`` says what each means."""

    epsilon: float
    delta: float
    method: str = "mixture"
    relation: str = "add_remove"
    target: str | None = None
    unit: str | None = None
    max_rows: int | None = None
    learn_share: float | None = None
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
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Where the private rows are, and which columns of them are wanted; nothing is read before it is asked for."""

    place: Place
    columns: list[str]

    def check_form(self) -> None:
        """Finds faults of the table's form and keeps no value. Errors: InputError."""
        self.place.check_form(self.columns)


@dataclass(frozen=True, kw_only=True)
class Job:
    """A checked request."""

    request: Request
    rows: Rows
    schema: Schema
    generator: Generator
    grant: Grant
    learn_share: float
    dataset: str
    device: str

    def check(self) -> None:
        """All that the method and the curator would refuse, rehearsed on made-up rows. Errors: UsageError."""
        share, alone = self.learn_share, self.learn_share in (0, 1)
        learnt = None
        if share > 0:
            learnt = rehearsal.share(self.grant, share, failures=True, alone=alone), self.grant.mu * sqrt(share)
        measured = rehearsal.share(self.grant, 1 - share, failures=False, alone=alone)
        rehearsal.check(self.generator if share < 1 else None, self.schema, measured, learnt=learnt)

    def spend(self, *, noise_source: str) -> Spend:
        """The ledger line that pays for the whole run."""
        question = {
            "method": self.generator.name,
            "columns": list(self.schema.measured()),
            "target": self.schema.target,
            **({"learns": True} if self.learn_share == 1 else {}),
            **({"mu": self.grant.mu} if _gaussian(self.generator) else {}),
            "sensitivity": counts.sensitivity(self.grant.near),
            "max_rows": self.grant.near.max_rows,
        }
        named = {"actor": self.request.actor} if self.request.actor else {}
        return Spend(
            dataset=self.dataset,
            epsilon=self.grant.epsilon,
            delta=self.grant.delta,
            relation=str(self.grant.near.relation),
            unit=self.grant.near.unit,
            engine=self.rows.place.engine,
            noise_source=noise_source,
            question=question,
            approved_by=self.request.approved_by,
            run=self.request.run,
            **named,
        )


def prepare(table: Source, schema: Schema, request: Request, *, note: Note) -> Job:
    """A job, or the reason why not. Opens no table. Errors: UsageError, InputError."""
    composition.check(request.epsilon, request.delta)
    relation = relation_named(request.relation)
    generator = generator_named(request.method, relation, request.options)
    place = table if isinstance(table, Place) else place_of(table)
    check_num_rows(request.num_rows)
    check_seed(request.seed)
    check_texts(request)
    if request.learn_share is not None:
        schema = to_learn(schema, request.assume_public, note)
    share = learning_share(schema, request.learn_share)
    schema = with_unit(with_target(schema, request.target), request.unit, request.max_rows)
    schema = confirmed(
        schema, assume_public=request.assume_public, reasons=request.reasons, max_categories=request.max_categories,
        note=note,
    )  # fmt: skip
    if not schema.measured():
        raise InputError("schema: every column is an identifier; there is nothing to learn")
    if schema.learnt is not None and 0 < share < 1:
        raise InputError(
            "schema: some of its facts were learnt before, at a price that does not add up with learning within a run; "
            "learn what is missing with `synth schema learn`, then run without --learn-share"
        )
    near = adjacency(schema, relation)
    check_learnt(schema, near)
    if getattr(generator, "needs_public_rows", False) and not near.rows_are_public:
        raise UsageError(
            f"method {generator.name} with these options tells how many rows there are; they need --relation zero_out "
            "or replace_one, with single rows as units"
        )
    if share == 0:  # else the conditions can be read only once the facts are learnt
        Rules(schema)
        check_schema(generator, schema)
    return Job(
        request=request,
        rows=Rows(place=place.under(schema), columns=[*schema.measured(), *([schema.person] if schema.person else [])]),
        schema=schema,
        generator=generator,
        grant=granted(request.epsilon, request.delta, near, learning=share > 0),
        learn_share=share,
        dataset=dataset_name(place, request.dataset or schema.dataset),
        device=resolve_device(request.device),
    )


def located(table: Source, source: str | None) -> Source:
    """The table, at a source where one is named. Errors: UsageError."""
    if source is None:
        return table
    if not isinstance(table, str | Path):
        raise UsageError("--source: TABLE must be the name of a table there")
    return WarehousePlace(Engine(source), str(table))


def _gaussian(generator: Generator) -> bool:
    """Whether all of a run's questions are Gaussian: then it has a mu, by which runs compose exactly."""
    others = {"external", "choice"} & set(kinds_of(generator.reads))
    return not others and getattr(generator, "gaussian", True)


def check_schema(generator: Generator, schema: Schema) -> None:
    """What a generator has to say against a table of this schema. Errors: UsageError."""
    rule = getattr(generator, "check_schema", None)
    if rule is not None:
        rule(schema)


def check_num_rows(num_rows: int | None) -> None:
    """Errors: UsageError below one row, or beyond what a table may have."""
    if num_rows is not None and not 1 <= num_rows <= MOST_ROWS:
        raise UsageError(f"--num-rows {num_rows}: at least 1 row is needed, and at most {MOST_ROWS}")


def check_seed(seed: int | None) -> None:
    """Errors: UsageError for a seed that random generators do not take."""
    if seed is not None and not 0 <= seed < 2**63:
        raise UsageError(f"--seed {seed}: must be a whole number from 0 to 2**63 - 1")


def check_texts(request: Request) -> None:
    """Errors: UsageError for a name that is no text, and so could not be written."""
    for name in ("dataset", "target", "unit", "actor", "approved_by"):
        text = getattr(request, name)
        if text is not None and not is_text(text):
            raise UsageError(f"--{name.replace('_', '-')}: holds half a character (a lone surrogate); write it anew")


def methods() -> list[dict[str, Any]]:
    """The generators: name, one-line summary, barrier, relations with a guarantee, options and what each may be,
    releases read.

    Privacy: public only.
    """
    return [
        {"name": g.name, "summary": g.summary, "barrier": g.barrier, "relations": list(g.relations),
         "options": options_of(g), "ranges": {n: str(r) for n, r in g.ranges.items()}, "reads": kinds_of(g.reads)}
        for g in GENERATORS.values()
    ]  # fmt: skip


def kinds_of(releases: Iterable[type]) -> list[str]:
    """Words for kinds of release, sorted.

    >>> from synth.questions import CountsRelease
    >>> kinds_of([CountsRelease])
    ['counts']
    """
    return sorted({r.__name__.removesuffix("Release").lower() for r in releases})


def generator_named(method: str, relation: Relation, options: Mapping[str, Any] | None = None) -> Generator:
    """The generator of that name with these options, if it supports the relation. Errors: UsageError."""
    if method not in GENERATORS:
        raise UsageError(f"method {method!r} is unknown; choose one of {', '.join(GENERATORS)}")
    generator = GENERATORS[method]
    if str(relation) not in generator.relations:
        names = ", ".join(generator.relations)
        raise UsageError(f"method {method} has no guarantee under {relation}; it supports {names}")
    return with_options(generator, options or {})


def granted(epsilon: float, delta: float, near: Adjacency, *, learning: bool) -> Grant:
    """The noise budget of a guarantee; where categories are to be learnt, part of delta goes to their thresholds."""
    failure = min(0.1 * delta, 0.1 * epsilon * composition.EPSILON_RESERVE) if learning else 0.0
    mu = composition.calibrate(epsilon, delta - failure)
    return Grant(epsilon=epsilon, delta=delta, near=near, mu=mu, failure_delta=failure)


def dataset_name(table: Source, declared: str | None, *, book: Ledger | None = None) -> str:
    """The name a table is charged under: declared, else that of its file up to the first point; a database's own.

    ``book``: where the ledger knows the file under its whole path, as all files once were, that name stays.
    Errors: UsageError for a frame.

    >>> dataset_name("data/town_survey.csv.gz", None)
    'town_survey'
    """
    if declared:
        return declared
    if isinstance(table, pd.DataFrame) or (isinstance(table, Place) and table.name is None):
        raise UsageError("a frame has no name to be charged under; give dataset=... or name it in the schema")
    if isinstance(table, Place) and not isinstance(table, FilePlace):
        return str(table.name)
    return dataset_of(table.path if isinstance(table, FilePlace) else Path(table), book=book)


def resolve_device(device: str) -> str:
    """The torch device that a name means. Errors: UsageError when it is not there."""
    import torch  # costs a second, so only where it is needed

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" or (device.split(":")[0] == "cuda" and torch.cuda.is_available()):
        return device
    raise UsageError(f"device {device!r} is not available here; use auto, cpu or cuda")
