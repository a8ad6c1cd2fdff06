"""What a caller vouches for in a draft: facts that are public on their word, and the forms of made-up keys."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from synth.cli.answer import tell
from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.schema.table import Schema


def vouch(
    tables: "Mapping[str, Schema]", *, assume_public: bool | Sequence[str], because: Mapping[str, str]
) -> "dict[str, Schema]":
    """Drafted tables with facts marked public on the caller's word, or as they are; says on stderr which.

    ``tables``: by name, of which columns are TABLE.COLUMN, or one alone under "". Lists of values that tell of persons
    are marked only where they are named, each with a reason. Errors: UsageError, InputError.
    """
    from synth.pipeline import schema_approval

    named = [] if isinstance(assume_public, bool) else list(assume_public)
    for name in [] if "" in tables else [*named, *because]:
        table, _, column = name.partition(".")
        if table not in tables or column not in tables[table].columns:
            raise UsageError(f"{name}: the draft has no such column; write TABLE.COLUMN")
    results = {}
    for name, schema in tables.items():
        of = f"{name}." if name else ""
        schema = schema_approval.explained(schema, _own(because, of))
        own = assume_public if isinstance(assume_public, bool) else list(_own(dict.fromkeys(named, ""), of))
        results[name] = schema if own is False else marked(schema, own, table=of)
    remedy = "check each, then set its source, or pass --assume-public"
    waiting = {t: s.unconfirmed() for t, s in results.items() if s.unconfirmed()}
    if waiting and "" not in tables:
        tell([f"unconfirmed facts in {', '.join(waiting)}: {remedy}"])
    elif waiting:
        every = len(waiting[""]) == len(results[""].columns)
        tell([f"every fact is unconfirmed: {remedy}" if every else f"unconfirmed: {', '.join(waiting[''])}: {remedy}"])
    return results


def _own(named: Mapping[str, str], of: str) -> dict[str, str]:
    """Of what is said of TABLE.COLUMN that of one table, by column; ``of``: TABLE., or nothing."""
    return {n.removeprefix(of): what for n, what in named.items() if n.startswith(of)}


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


def formed(tables: "Mapping[str, Schema]", forms: Mapping[str, str]) -> "dict[str, Schema]":
    """Drafted tables with the public forms of made-up keys, by column. Errors: UsageError for what is no identifier."""
    results, left = {}, set(forms)
    for table, schema in tables.items():
        own = _own(forms, of := f"{table}." if table else "")
        left -= {of + n for n in own}
        for name in own:
            if name not in schema.columns or schema.columns[name].type != "identifier":
                raise UsageError(f"--pattern {name}: it is no identifier of the draft; name it with --identifier")
        columns = {n: c.model_copy(update={"pattern": own[n]}) if n in own else c for n, c in schema.columns.items()}
        results[table] = schema.model_copy(update={"columns": columns})
    for name in left:
        raise UsageError(f"--pattern {name}: the draft has no such column; write TABLE.COLUMN")
    return results
