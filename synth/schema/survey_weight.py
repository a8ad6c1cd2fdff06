"""What a survey's weight must be: a measured number whose bounds somebody vouches for."""

from collections.abc import Collection, Iterator, Mapping

from synth.schema.column import Column


def problems(name: str, columns: Mapping[str, Column], measured: Collection[str], target: str | None) -> Iterator[str]:
    """A sentence for each rule that the weight breaks: its bounds bound what a row adds to weighted counts."""
    column = columns.get(name)
    if column is None:
        yield f"weight {name!r} is not among the columns"
    elif column.type not in ("integer", "float"):
        yield f"weight {name!r} is {column.type}; a weight is an integer or float"
    elif name not in measured:
        yield f"weight {name!r} is given by a constraint; name a column that is read"
    elif name == target:
        yield f"weight {name!r} is the target as well; a weight is not predicted"
    elif column.source == "private" or column.min is None or column.max is None:
        yield f"weight {name!r} needs stated min and max, since they bound what a row adds; it cannot learn them"
    elif float(column.min) < 0 or float(column.max) <= 0:
        yield f"weight {name!r} goes from {column.min} to {column.max}; its min must be 0 or more, its max above 0"
