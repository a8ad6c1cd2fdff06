"""The options that several commands share, each with its help text."""

from pathlib import Path
from typing import Annotated

import typer

from synth.errors import UsageError

TableArg = Annotated[Path, typer.Argument(help="CSV (also .gz), Parquet or .xlsx file of private rows.")]
SchemaOpt = Annotated[Path, typer.Option("--schema", help="The table's schema, a JSON file.")]
LedgerOpt = Annotated[Path | None, typer.Option("--ledger", help="Ledger file [default: $SYNTH_LEDGER or the user's].")]
JsonOpt = Annotated[bool, typer.Option("--json", help="Answer with one JSON object on stdout.")]
EpsilonOpt = Annotated[float, typer.Option("--epsilon", help="Privacy loss of the whole run; smaller is more private.")]
DeltaOpt = Annotated[float, typer.Option("--delta", help="Probability that epsilon does not bound the loss.")]
MethodOpt = Annotated[str, typer.Option("--method", help="Generator; `synth methods` lists them.")]
RelationOpt = Annotated[str, typer.Option("--relation", help="add_remove, replace_one or zero_out.")]
RowsOpt = Annotated[int | None, typer.Option("--num-rows", help="Rows to make [default: the noisy total].")]
SeedOpt = Annotated[int | None, typer.Option("--seed", help="Of initialisation and sampling, never of privacy noise.")]
DatasetOpt = Annotated[
    str | None, typer.Option("--dataset", help="Name to charge [default: the schema's, else the file's].")
]


def _address(source: str | None) -> str | None:
    """What ``@name`` stands for."""
    if source is None or not source.startswith("@"):
        return source
    from synth import databases  # costs a second

    return databases.address(source)


SourceOpt = Annotated[
    str | None,
    typer.Option("--source", callback=_address, help="Database or cluster: postgres://user@host/db, "
                 "duckdb:///file.duckdb, spark, or @NAME of the file that SYNTH_SOURCES names."),
]  # fmt: skip
DeviceOpt = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]

RawTextOpt = Annotated[
    bool, typer.Option("--raw-text", help="Leave CSV text that a spreadsheet would take for a formula as it is.")
]


def parse_options(texts: list[str]) -> dict[str, str]:
    """NAME=VALUE texts as options. Errors: UsageError for a text without an equals sign.

    >>> parse_options(["loss=kl", "k=2"])
    {'loss': 'kl', 'k': '2'}
    """
    for text in texts:
        if "=" not in text.lstrip("="):
            raise UsageError(f"--option {text}: write NAME=VALUE, for instance --option steps=400")
    return {name: value for name, _, value in (text.partition("=") for text in texts)}
