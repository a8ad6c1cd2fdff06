"""What a command says that is called without its part: the usual way, or the help of the group."""

import sys

import typer

from synth.errors import UsageError

GUIDE = """Synthetic tables with a differential-privacy guarantee. The usual way:

  synth schema init people.csv --out people.schema.json     draft what is public of the table; check the file
  synth plan --schema people.schema.json --rows 40000       what a run would ask, cost and reach; reads no row
  synth run people.csv --schema people.schema.json --epsilon 1 --out release
                                                            charge the ledger, make the synthetic table
  synth report release --real people.csv                    how good it is: for the steward's eyes only

In a browser: synth app. All commands: synth --help, synth COMMAND --help."""


def guided(ctx: typer.Context) -> None:
    """The usual way, where no command is named."""
    _say(ctx, GUIDE)


def helped(ctx: typer.Context) -> None:
    """The help of a group of commands, where none of them is named."""
    _say(ctx, ctx.get_help())


def _say(ctx: typer.Context, text: str) -> None:
    if ctx.invoked_subcommand is None:
        print(text)
        sys.exit(UsageError.exit_code)
