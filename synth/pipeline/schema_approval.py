"""The schema that a run works under: its target and unit, who confirms its facts, and which are to be learnt."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from synth.errors import InputError, UsageError, meant
from synth.pipeline.learn_schema import lacking
from synth.pipeline.request import Note, RunRequest
from synth.pipeline.uses import with_uses
from synth.privacy.relation import Adjacency, Relation
from synth.schema import dataset as datasets
from synth.schema import round_bounds
from synth.schema.column import RISKS, Risk
from synth.schema.dataset import ONE, Dataset, parse_any
from synth.schema.table import CATEGORICAL, NUMERIC, UNCONFIRMED, UNREAD, Column, Schema, parse
from synth.sources import draft_risks

AnySchema = TypeVar("AnySchema", Schema, Dataset, Schema | Dataset)


def with_target(schema: AnySchema, target: str | None) -> AnySchema:
    """The schema with its target replaced. Errors: UsageError when it is no column of it."""
    if target is None:
        return schema
    if schema.tree is not None:
        raise UsageError("`target=`: related tables have no such option yet; leave it out")
    table = schema.tables[ONE]
    if target == table.target:
        return schema
    if target not in table.measured():
        raise UsageError(
            "`target={}` is not a measured column of the schema; {}", target, meant(target, table.measured())
        )
    return schema.with_tables({ONE: table.model_copy(update={"target": target, "positive": None})})


def check_left(share: float | None) -> None:
    """Errors: UsageError for a share of learning that leaves nothing for the table."""
    if share == 1:
        raise UsageError(
            "`learn_share=1`: nothing is left for the table; 0.1 is usual, and `synth.learn_schema` learns"
        )


def learning_share(schema: Schema | Dataset, asked: float | None) -> float:
    """Share of mu**2 that goes to the schema's missing facts. Errors: InputError when they are missing unasked."""
    if asked is not None and not 0 < asked <= 1:
        raise UsageError("`learn_share={}`: must lie between 0 and 1; 0.1 is usual", asked)
    if asked is None:
        parse_any(schema.model_dump(exclude_none=True))
        return 0.0
    share = asked if lacking(schema) else 0.0
    if schema.learnt is not None and 0 < share < 1:
        raise InputError(
            "schema: some of its facts were learnt before, at a price that does not add up with learning within a run; "
            "learn what is missing with `synth.learn_schema`, then run without `learn_share=`"
        )
    for problem in datasets.not_learnable(schema, lacking(schema) if share else ()):
        raise InputError("schema: {}", problem)
    return share


def with_unit(schema: Any, unit: str | None, max_rows: int | None) -> Any:
    """The schema with its unit of privacy replaced. Errors: UsageError when unit and max_rows do not fit."""
    if unit is None and max_rows is None:
        return schema
    stated = None if unit == "row" else schema.max_rows
    most = stated if max_rows is None else max_rows
    answered = {"unit_source": "declared"} if unit is not None and schema.unit_source is not None else {}
    named = schema.model_copy(update={"unit": unit or schema.unit, "max_rows": most, **answered})
    try:
        return parse(named.model_dump(exclude_none=True), name="`unit=`, `max_rows=`", complete=False)
    except InputError as error:
        raise UsageError(*error.args) from None


def adjacency_of(schema: Schema | Dataset, relation: Relation) -> Adjacency:
    """The relation on the schema's unit of privacy."""
    unit, rows = schema.privacy_unit
    public = schema.public_columns if relation is Relation.REPLACE_ONE else ()  # the only one that they go with
    return Adjacency(relation=relation, unit=unit, max_rows=rows, public_columns=public)


def confirmed(
    schema: Schema,
    *,
    assume_public: bool | Sequence[str],
    reasons: Mapping[str, str],
    max_categories: int,
    note: Callable[[str], None],
    of: str = "",
) -> Schema:
    """The schema if somebody confirms every fact, without the columns that are left out and a draft's remarks.

    ``of``: how columns' names begin in messages, TABLE. for one of related tables.
    Errors: InputError naming what nobody confirms, alone where it tells of persons; UsageError.
    """
    schema = explained(schema, reasons, of=of)
    unconfirmed = schema.unconfirmed()
    listed = "; ".join(f"{of}{name} ({', '.join(names)})" for name, names in unconfirmed.items())
    if unconfirmed and assume_public is False:
        raise InputError(
            "schema: drafted facts that nobody has confirmed: {}. Facts taken from private rows are not free: set "
            '"source" to "public" or "declared" where you know them from elsewhere, or confirm all with '
            "`assume_public=`",
            listed,
        )
    if schema.dialect is not None and schema.dialect.source == UNCONFIRMED and assume_public is False:
        raise InputError(
            "schema: nobody has confirmed how the file is read ({}): correct dialect and set its source to "
            '"declared", or confirm it with `assume_public=`',
            schema.dialect.in_words(),
        )
    check_alone(schema, assume_public, of=of)
    person, rows = schema.person, schema.max_rows
    if schema.unit_source == UNCONFIRMED and (person is not None or assume_public is False):
        drafted = "each row is one person" if person is None else f"{person} with {rows} rows each"
        ways = "`unit=row`" if person is None else f"`unit={person}` `max_rows={rows}`, or `unit=row`"
        raise InputError(
            "schema: can a person appear in more than one row? The draft proposes: {}; answer with {} (or set "
            '"unit_source" to "declared")',
            drafted,
            ways,
        )
    if unconfirmed:
        note(f"taken as public on your word: {listed}")
    for name, column in schema.columns.items():
        many = len(column.categories or ())
        if many > max_categories:
            raise InputError(
                "column {}{}: {} categories, more than {}; make it an identifier or confirm with `max_categories={}`",
                of,
                name,
                many,
                max_categories,
                many,
            )
    bare_facts = {n: c.model_copy(update={"risk": None}) for n, c in schema.columns.items()}
    return schema.model_copy(update={"columns": bare_facts}).assume_public().retained()


def explained(schema: Schema, reasons: Mapping[str, str], *, of: str = "") -> Schema:
    """The schema with these reasons for publishing a column's list. Errors: UsageError for a name that is no column."""
    for name in reasons:
        if name not in schema.columns:
            raise UsageError("`reasons={}{}`: the schema has no such column; {}", of, name, meant(name, schema.columns))
    columns = {n: c.model_copy(update={"reason": reasons.get(n, c.reason)}) for n, c in schema.columns.items()}
    return schema.model_copy(update={"columns": columns})


def _somebodys(column: Column) -> bool:
    """Whether bounds are none that a draft would propose: a person's own, or of a draft before 0.2.0."""
    if column.min is None or column.max is None:
        return False
    if column.type == "datetime":
        return not round_bounds.are_years(str(column.min), str(column.max))
    if column.type not in NUMERIC:
        return False
    low, high, step = float(column.min), float(column.max), float(column.step)
    return not all(round_bounds.is_round(b, low, high, step=step) for b in (low, high))


def risky(schema: Schema) -> dict[str, Risk]:
    """The columns whose list of values, or bounds, must be confirmed alone, with the reason why.

    Not those of which nothing would be published.
    """
    risks: dict[str, Risk] = {}
    for name, column in schema.columns.items():
        drafted, risk = column.source == UNCONFIRMED, column.risk
        if drafted and _somebodys(column):
            risk = "bounds"
        elif column.source == "private":
            risk = None
        elif risk != "bounds":
            listed = column.type in CATEGORICAL and column.categories
            if listed and risk is None and drafted:  # a draft of before risks were marked
                risk = draft_risks.risk_of_list(name, column.categories or ())
            risk = risk if listed else None
        if risk is not None:
            risks[name] = risk
    return risks


def check_alone(schema: Schema, assume_public: bool | Sequence[str], *, of: str = "") -> None:
    """Errors: InputError for a list that tells of persons, unnamed or without a reason; UsageError for a false name."""
    named = () if isinstance(assume_public, bool) else tuple(assume_public)
    for name in named:
        if name not in schema.columns:
            raise UsageError(
                "`assume_public={}{}`: the schema has no such column; {}", of, name, meant(name, schema.columns)
            )
    alone = risky(schema)
    waiting = [n for n in alone if schema.columns[n].source == UNCONFIRMED and n not in named]
    if waiting:
        message = "; ".join(_published(of + n, schema.columns[n], alone[n]) for n in waiting)
        column = "TABLE.COLUMN" if of else "COLUMN"
        raise InputError(
            "schema: these lists and bounds have to be confirmed one by one: {}. Learn them (`learn_share=0.1` or "
            "`synth.learn_schema`), group them (`synth.draft` with `group=`), leave them out (type omitted), or "
            "confirm each by name: `assume_public={}` with a `reasons={}=TEXT` for each",
            message,
            ",".join(of + n for n in waiting),
            column,
        )
    for name, risk in alone.items():
        if not (schema.columns[name].reason or "").strip():
            raise InputError(
                'column {}: state why that may be public, with `reasons={}{}=TEXT` or "reason" in the schema; it '
                "goes on the card",
                _published(of + name, schema.columns[name], risk),
                of,
                name,
            )


def _published(name: str, column: Column, risk: Risk) -> str:
    what = f"{column.min} to {column.max}" if risk == "bounds" else f"{len(column.categories or ())} values"
    word = "" if risk == "bounds" else " word for word"
    return f"{name} ({what} would be published{word}; {RISKS[risk]})"


def to_learn(schema: AnySchema, assume_public: bool | Sequence[str], note: Note) -> AnySchema:
    """The schema with unconfirmed facts taken as absent, so that they are learnt; kinds and missing codes stand.

    With ``assume_public`` only the lists that must be confirmed alone and are not named.
    """
    tables = {}
    for table, own in schema.tables.items():
        named, about = _own(schema, table, assume_public), f"{table}: " if schema.several else ""
        alone = {n for n in risky(own) if isinstance(named, bool) or n not in named}
        waiting = [n for n in own.unconfirmed() if n in alone or assume_public is False]
        if learnt := [n for n in waiting if own.columns[n].type not in UNREAD]:
            note(f"{about}drafted and confirmed by nobody, so learnt privately: {', '.join(learnt)}")
        if waiting:
            note(f"{about}kind and missing codes taken as public on your word: {', '.join(waiting)}")
        columns = {n: bare(c) if n in waiting else c for n, c in own.columns.items()}
        tables[table] = own.model_copy(update={"columns": columns}) if waiting else own
    return schema.with_tables(tables)


def bare(column: Column) -> Column:
    """A column without the facts that can be learnt; texts that may mean missing stay.

    >>> bare(Column(type="integer", min=3, max=9, nullable=True, source="unconfirmed")).model_dump(exclude_none=True)
    {'type': 'integer', 'source': 'declared'}
    """
    gone = ("categories", "labels", "min", "max", "decimals", "resolution", "nullable", "risk", "reason")
    return column.model_copy(update={**dict.fromkeys(gone), "source": "declared"})


def alone(schema: Schema) -> dict[str, str]:
    """The columns whose list of values waits to be confirmed alone, each with why, in words.

    Privacy: public only of a confirmed schema; of a draft it tells what was read off rows.
    """
    waiting = {n: r for n, r in risky(schema).items() if schema.columns[n].source == UNCONFIRMED}
    unsaid = {n: r for n, r in risky(schema).items() if not (schema.columns[n].reason or "").strip()}
    return {n: RISKS[r] for n, r in {**waiting, **unsaid}.items()}


def approved(schema: AnySchema, request: RunRequest, *, note: Note) -> tuple[AnySchema, float]:
    """The schema if somebody confirms every fact that is not to be learnt, and the share of mu**2 for those.

    Errors: InputError, UsageError.
    """
    check_confirmed(schema)
    assumed: bool | Sequence[str] = request.assume_public
    reasons: Mapping[str, str] = request.reasons
    for name in [*([] if isinstance(assumed, bool) else assumed), *reasons]:
        if schema.find(name)[0] not in schema.tables:
            raise UsageError("{}: the schema has no such column; write TABLE.COLUMN", name)
    if request.learn_share is not None:
        schema = to_learn(schema, assumed, note)
    share = learning_share(schema, request.learn_share)
    schema = with_unit(with_target(schema, request.target), request.unit, request.max_rows)
    schema = with_uses(schema, request.uses) if share < 1 else schema  # whose facts are learnt and no more
    tables = {
        name: confirmed(
            table.model_copy(update={"unit_source": None}) if schema.several else table,
            assume_public=_own(schema, name, assumed),
            reasons={schema.find(n)[1]: why for n, why in reasons.items() if schema.find(n)[0] == name},
            max_categories=request.max_categories,
            note=partial(_of_table, name, note) if schema.several else note,
            of=schema.name_of(name, ""),
        )
        for name, table in schema.tables.items()
    }
    schema = schema.with_tables(tables)
    for problem in datasets.problems(schema, complete=request.learn_share != 1) if schema.several else ():
        raise InputError("schema: {}", problem)
    if not any(t.measured() for t in schema.tables.values()):
        raise InputError("schema: every column is an identifier; there is nothing to learn")
    return schema, share


def check_confirmed(schema: Schema | Dataset) -> None:
    """Errors: InputError for what is left open, for keys or references that a draft proposed, and for facts that were
    learnt from one table's rows: for a unit of its own, a row or a person; what they cost a root is not known.
    """
    for problem in datasets.undecided(schema):
        raise InputError("schema: {}", problem)
    for key in schema.keys:
        if key.source == UNCONFIRMED:
            raise InputError(
                "schema: nobody has confirmed that {} belongs to {} by {} with at most {} rows each, a draft's "
                'proposal read off private rows: correct it and set the key\'s "source" to "declared"',
                key.child,
                key.parent,
                ", ".join(key.columns),
                key.most_children,
            )
    for name, public in (schema.public or {}).items():
        if public.source == UNCONFIRMED:
            raise InputError('schema: nobody has confirmed that {} is public: set its "source" to "declared"', name)
    for name, table in schema.tables.items() if schema.several else ():
        private = any(c.source == "private" for c in table.columns.values())
        if table.learnt is not None or (private and schema.learnt is None):
            raise InputError(
                "table {}: its schema holds facts learnt from rows for a unit of its own, whose price for a key of "
                "the root is not known; learn them from all tables together (`synth.learn_schema`), or state them",
                name,
            )


def _own(schema: Schema | Dataset, table: str, named: bool | Sequence[str]) -> bool | list[str]:
    """A table's columns among those named, or the word on all of them."""
    return named if isinstance(named, bool) else [column for t, column in map(schema.find, named) if t == table]


def _of_table(table: str, note: Note, text: str) -> None:
    note(f"{table}: {text}")
