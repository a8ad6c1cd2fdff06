"""What a command says that is called without its part: the usual way, or the help of the group."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from synth.errors import UsageError

GUIDE = """Synthetic tables with a differential-privacy guarantee. The usual way:

  synth schema init people.csv --out people.schema.json     draft what is public of the table; check the file
  synth plan --schema people.schema.json --rows 40000       what a run would ask, cost and reach; reads no row
  synth run people.csv --schema people.schema.json --epsilon 1 --out release
                                                            charge the ledger, make the synthetic table
  synth report release --real people.csv                    how good it is: for the steward only

In a browser: synth app. All commands: synth --help, synth COMMAND --help."""


VersionOpt = Annotated[bool, typer.Option("--version", help="Show the version and exit.")]


def guided(ctx: typer.Context, version: VersionOpt = False) -> None:
    """The usual way, where no command is named."""
    if version:
        from importlib.metadata import version as installed

        print(f"synth {installed('facsimile-synth')}")
        sys.exit(0)
    _say(ctx, GUIDE)


def asked(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``help COMMAND`` as ``COMMAND --help``.

    >>> asked(["help", "run"]), asked(["run", "people.csv"])
    (['run', '--help'], ['run', 'people.csv'])
    """
    return [*arguments[1:], "--help"] if arguments[:1] == ["help"] else list(arguments)


def helped(ctx: typer.Context) -> None:
    """The help of a group of commands, where none of them is named."""
    _say(ctx, ctx.get_help())


def _say(ctx: typer.Context, text: str) -> None:
    if ctx.invoked_subcommand is None:
        print(text)
        sys.exit(UsageError.exit_code)
