"""How a table is written, stated on the command line or shown there for confirmation."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from synth.errors import UsageError

if TYPE_CHECKING:
    from synth.sources.drafting import Described

NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "point": ".", "space": " ", "apostrophe": "'"}

EncodingOpt = Annotated[str | None, typer.Option("--encoding", help="utf-8, utf-16, windows-1252 [default: found].")]
DelimiterOpt = Annotated[str | None, typer.Option("--delimiter", help="comma, semicolon, tab, pipe [default: found].")]
DecimalOpt = Annotated[str | None, typer.Option("--decimal", help="point or comma [default: found].")]
ThousandsOpt = Annotated[
    str | None, typer.Option("--thousands", help="point, comma, apostrophe, space or none [default: found].")
]
FormatOpt = Annotated[
    list[str] | None, typer.Option("--format", help="COL=dd.mm.yyyy or COL=1.234,5, how a column is written; repeat.")
]


def stated(
    encoding: str | None, delimiter: str | None, decimal: str | None, thousands: str | None
) -> dict[str, str | None]:
    """The facts of a dialect that options state. Errors: UsageError for a value that is none."""
    from pydantic import ValidationError

    from synth.schema.dialect import Dialect

    given = {"encoding": encoding, "delimiter": delimiter, "decimal": decimal, "thousands": thousands}
    result: dict[str, str | None] = {n: NAMES.get(v, v) for n, v in given.items() if v is not None}
    if result.get("thousands") == "none":
        result["thousands"] = None
        result.setdefault("decimal", ".")
    for name, value in result.items():
        try:
            Dialect.model_validate(
                {
                    name: value,
                    **({"decimal": "."} if name == "thousands" and value == "," else {}),
                    **({"decimal": ","} if name == "thousands" and value == "." else {}),
                }
            )
        except ValidationError:
            raise UsageError(f"--{name} {given[name]}: not known; see `synth schema init --help`") from None
    if result.get("decimal") is not None and result["decimal"] == result.get("thousands"):
        raise UsageError("--decimal and --thousands must be different marks")
    return result


def formats(texts: Sequence[str] | None) -> dict[str, str]:
    """The formats that --format names, by column. Errors: UsageError."""
    from synth.schema.dialect import format_problem

    result: dict[str, str] = {}
    for text in texts or ():
        name, sign, form = text.rpartition("=")
        problem = format_problem("datetime" if "y" in form else "float", form) if sign else "write COL=FORMAT"
        if problem or not name or name in result:
            raise UsageError(f"--format {text}: {problem or 'write COL=FORMAT, once for each column'}")
        result[name] = form
    return result


def tell_reading(made: "Described") -> None:
    """One line on stderr: how the file was read, and what to do if that is wrong."""
    if made.read_as is None:
        return
    result = made.schema.dialect or made.read_as
    plain = "" if made.schema.dialect else " (the plain way, which needs no dialect)"
    print(
        f"read as {result.in_words()}{plain}: correct? else state --encoding, --delimiter, --decimal, --thousands",
        file=sys.stderr,
    )
