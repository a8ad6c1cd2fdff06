"""Options of `synth schema` that are about related tables."""

from typing import Annotated

import typer

RootOpt = Annotated[str | None, typer.Option("--root", help="Related tables: the one whose rows are the units.")]
PublicOpt = Annotated[list[str] | None, typer.Option("--public", help="A table that is public anyway; repeatable.")]
KeyOpt = Annotated[
    list[str] | None, typer.Option("--key", help="CHILD.COL=PARENT.COL, or CHILD.A+B=PARENT.C+D; repeatable.")
]
MostOpt = Annotated[
    list[str] | None, typer.Option("--most-children", help="CHILD=N: rows of one parent that are kept; repeatable.")
]
