"""Whether what a caller hands over as a schema is one."""

from synth.errors import UsageError
from synth.schema.dataset import Dataset
from synth.schema.table import Schema


def check_schema(given: object, *, tree: bool = False) -> None:
    """Errors: UsageError where a path or plain data was handed over, or related tables unless a ``tree`` will do.

    >>> check_schema({"columns": {}})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    synth.errors.UsageError: schema: a dict is no schema; read its file with ..., or make it of plain data with ...
    """
    if isinstance(given, (Schema, Dataset) if tree else Schema):
        return
    if isinstance(given, Dataset):
        raise UsageError("schema: it describes several tables; here one of one is needed")
    more = "; for several tables synth.app_api.load_related and synth.app_api.parse_related" if tree else ""
    raise UsageError(
        f"schema: a {type(given).__name__} is no schema; read its file with synth.Schema.load(path), or "
        f"make it of plain data with synth.Schema.parse(data){more}"
    )
