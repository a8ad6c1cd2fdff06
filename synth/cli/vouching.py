"""What a caller vouches for in a draft: facts that are public on their word, and the forms of made-up keys."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from synth.cli.answer import tell
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.schema.table import Schema


def vouch(schema: "Schema", *, assume_public: bool | Sequence[str], because: Mapping[str, str]) -> "Schema":
    """The schema with drafted facts marked public on the caller's word, or as it is; says on stderr which.

    Lists of values that tell of persons are marked only where they are named, each with a reason.
    Errors: UsageError, InputError.
    """
    from synth.pipeline import schema_approval

    schema = schema_approval.explained(schema, because)
    if assume_public is not False:
        schema = marked(schema, assume_public)
    waiting = schema.unconfirmed()
    if len(waiting) == len(schema.columns):
        tell(["every fact is unconfirmed: check each, then set its source, or pass --assume-public"])
    elif waiting:
        tell([f"unconfirmed: {', '.join(waiting)}: check each, then set its source, or pass --assume-public"])
    return schema


def marked(schema: "Schema", assume_public: bool | Sequence[str], *, table: str = "") -> "Schema":
    """The schema with facts marked public on the caller's word; ``table``: named with its columns on stderr.

    Errors: InputError, UsageError.
    """
    from synth.pipeline import schema_approval

    waiting, named = schema.unconfirmed(), () if isinstance(assume_public, bool) else tuple(assume_public)
    alone = schema_approval.risky(schema)
    left = [n for n in waiting if n in alone and n not in named]
    given = [n for n in waiting if n not in left]
    retained = schema.model_copy(update={"columns": {n: c for n, c in schema.columns.items() if n not in left}})
    schema_approval.check_alone(
        retained, assume_public if isinstance(assume_public, bool) else [n for n in named if n not in left]
    )
    if given:
        listed = "; ".join(f"{table}{n} ({', '.join(waiting[n])})" for n in given)
        tell([f"taken as public on your word: {listed}"])
    if schema.person is None and schema.unit_source == "unconfirmed":
        tell(["taken on your word: each row is one person"])
        schema = schema.model_copy(update={"unit_source": "declared"})
    return schema.assume_public(given)


def formed(schema: "Schema", forms: Mapping[str, str]) -> "Schema":
    """The schema with the public forms of made-up keys, by column. Errors: UsageError for what is no identifier."""
    for name in forms:
        if name not in schema.columns or schema.columns[name].type != "identifier":
            raise UsageError(f"--pattern {name}: it is no identifier of the draft; name it with --identifier")
    columns = {n: c.model_copy(update={"pattern": forms[n]}) if n in forms else c for n, c in schema.columns.items()}
    return schema.model_copy(update={"columns": columns})
