"""The schema that a run works under: its target and unit, who vouches for its facts, and which are to be learnt."""

from collections.abc import Callable

from synth.errors import InputError, UsageError
from synth.learning import lacking
from synth.privacy.relation import Adjacency, Relation
from synth.schema import UNCONFIRMED, Schema, parse


def with_target(schema: Schema, target: str | None) -> Schema:
    """The schema with its target replaced. Errors: UsageError when it is no column of it."""
    if target is None or target == schema.target:
        return schema
    if target not in schema.measured():
        raise UsageError(f"--target {target!r} is not a measured column of the schema")
    return schema.model_copy(update={"target": target, "positive": None})


def learning_share(schema: Schema, asked: float | None) -> float:
    """Share of mu**2 that goes to the schema's missing facts. Errors: InputError when they are missing unasked."""
    if asked is not None and not 0 < asked <= 1:
        raise UsageError(f"--learn-share {asked}: must lie between 0 and 1; 0.1 is usual")
    if asked is None:
        parse(schema.model_dump(exclude_none=True))
        return 0.0
    return asked if lacking(schema) else 0.0


def check_learnt(schema: Schema, near: Adjacency) -> None:
    """Errors: UsageError when the schema was learnt under another relation or unit, whose epsilon does not add up."""
    was = schema.learnt
    if was is not None and (was.relation, was.unit) != (str(near.relation), near.unit):
        raise UsageError(
            f"the schema was learnt under {was.relation} with unit {was.unit}, this run asks for {near.relation} "
            f"with unit {near.unit}; their epsilons do not add up: learn it again, or use the same"
        )


def with_unit(schema: Schema, unit: str | None, max_rows: int | None) -> Schema:
    """The schema with its unit of privacy replaced. Errors: UsageError when unit and max_rows do not fit."""
    if unit is None and max_rows is None:
        return schema
    named = schema.model_copy(update={"unit": unit or schema.unit, "max_rows": max_rows or schema.max_rows})
    try:
        return parse(named.model_dump(exclude_none=True), name="--unit, --max-rows", complete=False)
    except InputError as error:
        raise UsageError(str(error)) from None


def adjacency(schema: Schema, relation: Relation) -> Adjacency:
    """The relation on the schema's unit of privacy."""
    if schema.person is None:
        return Adjacency(relation=relation)
    return Adjacency(relation=relation, unit=schema.person, max_rows=schema.max_rows or 1)


def confirmed(schema: Schema, *, assume_public: bool, max_categories: int, note: Callable[[str], None]) -> Schema:
    """The schema if somebody vouches for every fact. Errors: InputError naming what nobody vouches for."""
    drafted = schema.unconfirmed()
    listed = "; ".join(f"{name} ({', '.join(names)})" for name, names in drafted.items())
    if drafted and not assume_public:
        raise InputError(
            f"schema: drafted facts that nobody has confirmed: {listed}. Facts read off private rows are not "
            'free: set "source" to "public" or "declared" where you know them from elsewhere, '
            "or pass --assume-public to vouch for all"
        )
    if schema.dialect is not None and schema.dialect.source == UNCONFIRMED and not assume_public:
        raise InputError(
            f"schema: nobody has confirmed how the file is read ({schema.dialect.in_words()}): correct dialect and set "
            'its source to "declared", or pass --assume-public'
        )
    if drafted:
        note(f"taken as public on your word: {listed}")
    for name, column in schema.columns.items():
        many = len(column.categories or ())
        if many > max_categories:
            raise InputError(
                f"column {name}: {many} categories, more than {max_categories}; "
                f"make it an identifier or confirm with --max-categories {many}"
            )
    return schema.assume_public()
