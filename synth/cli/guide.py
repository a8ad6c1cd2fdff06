"""What a command says that is called without its part: the usual way, or the help of the group."""

import re
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer

from synth.errors import UsageError, likely

GUIDE = """Synthetic tables with a differential-privacy guarantee. The usual way:

  synth schema init people.csv --out people.schema.json     draft what is public of the table; check the file
  synth plan --schema people.schema.json --rows 40000       what a run would ask, cost and reach; reads no row
  synth run people.csv --schema people.schema.json --epsilon 1 --out release
                                                            charge the ledger, make the synthetic table
  synth report release --real people.csv                    how good it is: for the steward only

In a browser: synth app. All commands: synth --help, synth COMMAND --help."""


UNKNOWN = re.compile(r"No such command '([^']*)'")  # in the parser's words
MOST = 3  # commands that are offered
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


def unknown(error: Exception) -> str:
    """A usage error about a command or option that is not there, with what was meant; empty for another error."""
    words, context = str(getattr(error, "message", "")), getattr(error, "ctx", None)
    option, command = getattr(error, "option_name", None), UNKNOWN.match(words)
    if option and context is not None and hasattr(error, "possibilities"):
        there = sorted({o for p in context.command.params for o in p.opts if o.startswith("--")})
        near = likely(str(option), there)
        return f"{option}: no such option" + (f"; {near}" if near else "")
    if command is None:
        return ""
    typed = command[1]
    return f"{typed}: no such command; {_nearest(typed, context)}"


def _nearest(typed: str, context: Any) -> str:
    """Commands that end as what was typed, or look like it, the ones below the same group first."""
    group = str(getattr(context, "command_path", "synth")).split()[1:]
    every = list(_paths(context.find_root().command))
    near = [p for p in every if p[-1] == typed]
    if not near:
        last = {p[-1] for p in every if list(p[: len(group)]) == group} or {p[-1] for p in every}
        alike = get_close_matches(typed, last, n=1) or get_close_matches(typed, {p[-1] for p in every}, n=1)
        near = [p for p in every if p[-1] in alike and (list(p[: len(group)]) == group or p[-1] not in last)]
    if not near:
        return "choose one of those that the help lists"
    return "did you mean " + " or ".join(f"`synth {' '.join(p)}`" for p in near[:MOST]) + "?"


def _paths(command: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, groups too, by the words that lead to it."""
    for name, one in getattr(command, "commands", {}).items():
        yield (*above, name)
        yield from _paths(one, (*above, name))


def _say(ctx: typer.Context, text: str) -> None:
    if ctx.invoked_subcommand is None:
        print(text)
        sys.exit(UsageError.exit_code)
