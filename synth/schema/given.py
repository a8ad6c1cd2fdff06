"""Whether what a caller hands over as a schema is one."""

from synth.errors import UsageError
from synth.schema.related import Related
from synth.schema.table import Schema


def check_schema(given: object, *, related: bool | None = False) -> None:
    """Errors: UsageError where a path, plain data or the other kind of schema was handed over.

    ``related``: whether it must be one of related tables; None where both will do.

    >>> check_schema({"columns": {}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    synth.errors.UsageError: schema: a dict is no schema; read its file with ..., or make it of plain data with ...
    """
    kinds = (Schema, Related) if related is None else (Related,) if related else (Schema,)
    if isinstance(given, kinds):
        return
    if isinstance(given, Schema | Related):
        one, other = ("several tables", "one of one") if isinstance(given, Related) else ("one table", "one of several")
        raise UsageError(f"schema: it describes {one}; here {other} is needed")
    several = ("synth.app_api.load_related", "synth.app_api.parse_related")
    read, made = several if related else ("synth.Schema.load", "synth.Schema.parse")
    more = f"; for several tables {' and '.join(several)}" if related is None else ""
    raise UsageError(
        f"schema: a {type(given).__name__} is no schema; read its file with {read}(path), or "
        f"make it of plain data with {made}(data){more}"
    )
