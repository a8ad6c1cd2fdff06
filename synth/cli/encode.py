"""`synth encode`: how rows become vectors of bounded norm, on rows made up from the schema."""

from pathlib import Path
from typing import Annotated

import typer

from synth.cli.answer import say
from synth.cli.options import JsonOpt, RelationOpt, SchemaOpt


def encode(
    schema: SchemaOpt,
    table: Annotated[
        Path | None, typer.Argument(help="The table that the schema is of. It is not opened: rows are made up.")
    ] = None,
    relation: RelationOpt = "add_remove",
    form: Annotated[str, typer.Option("--form", help="scaled: numbers as one coordinate; binned: one-hot.")] = "scaled",
    rows: Annotated[int, typer.Option("--rows", help="Made-up rows to show.")] = 3,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the made-up rows.")] = 0,
    as_json: JsonOpt = False,
) -> None:
    """Show how rows become vectors, on made-up rows.

    Each column's coordinates, the bounds of the norm, and the sensitivity that follows.
    """
    from synth.pipeline.encoded_rows import encode as encoded
    from synth.schema.table import load

    result = encoded(load(schema), relation=relation, form=form, rows=rows, seed=seed)
    if as_json:
        say({**result.plain(), "table_opened": False})
        return
    print("\n".join(result.in_words()))
    if table is not None:
        print(f"{table.name} was not opened: these rows are made up from {schema.name}")
