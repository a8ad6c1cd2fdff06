"""What commands say and hear: one JSON object or a few lines on stdout, everything else on stderr, in their own words.

What the library's messages name in Python is written as on the command line: options as flags, functions as commands.
A command that is called without its part says the usual way; one that is mistyped, what was meant; and a path that is
not there is said to be missing before anything else is said of it.
"""

import contextlib
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from synth import errors
from synth.errors import MACHINE, InputError, UsageError, ended, likely
from synth.files import whole_files

GUIDE = """Synthetic tables with a differential-privacy guarantee. The usual way:

  synth schema init people.csv --out people.schema.json     draft what is public of the table; check the file
  synth plan --schema people.schema.json --rows 40000       what a run would ask, cost and reach; reads no row
  synth run people.csv --schema people.schema.json --epsilon 1 --out release
                                                            charge the ledger, make the synthetic table
  synth report release --real people.csv                    how good it is: for the steward only

In a browser: synth app. All commands: synth --help, synth COMMAND --help."""
UNKNOWN = re.compile(r"No such command '([^']*)'")  # in the parser's words
MOST = 3  # commands that are offered
NUMBERS = {  # the parser's own words for a number that is none, and ours
    "Input should be a valid integer, unable to parse string as an integer": "write a whole number",
    "Input should be a valid number, unable to parse string as a number": "write a number",
}
FLAGS: dict[str, tuple[str, ...]] = {  # of options whose flag is not their name; where several, the command decides
    "candidates": ("with",),
    "count": ("multiple",),
    "datetime_": ("datetime",),
    "facts": ("papers",),
    "folder": ("from",),
    "formats": ("format",),
    "how": ("choice",),
    "keys": ("key",),
    "kind": ("format",),
    "options": ("option",),
    "reasons": ("reason",),
    "uses": ("for",),
}
NEGATED = {"linked": "--unlinked"}  # what a command says for NAME=False
ARGUMENTS = {"table": "TABLE"}  # what a command takes without a flag
COMMANDS = {
    "Ledger.grant": "ledger grant",
    "Ledger.rebuild": "ledger verify --rebuild",
    "Ledger.set_policy": "ledger policy",
    "Ledger.summary": "ledger show",
    "Ledger.verify": "ledger verify",
    "Release.refit": "run --from-release",
    "bundle": "bundle",
    "draft": "schema init",
    "learn_schema": "schema learn",
    "methods": "methods",
    "run": "run",
    "statistics": "statistics",
}
commands: Callable[[], Any] | None = None  # all there are, as the command line puts them together
AS_PYTHON = "SYNTH_MESSAGES"  # "python": messages as the library writes them, for a program that shows them itself
RELEASE = "name the folder that a run wrote"
REMEDIES = {  # by the parameter's name; every one that names what must be there stands here
    "after": RELEASE,
    "backup": "name the file that `synth ledger backup` wrote",
    "before": RELEASE,
    "book": "name a CSV file of codes and labels",
    "candidates": RELEASE,
    "card": "name a card.json, or the folder that holds it",
    "from_release": RELEASE,
    "metadata": "name a JSON file of metadata",
    "model": RELEASE,
    "old": "name the file of the ledger that is to be moved",
    "paid": "name the file that `synth statistics` wrote",
    "papers": "`synth card papers` writes an empty form",
    "real": "name the real table",
    "release": RELEASE,
    "schema": "`synth schema init` drafts one",
    "statistics": "name the file that `synth statistics` wrote",
    "strategy": "name a file of numbers",
    "table": "name a table's file, or a folder of tables",
    "test": "name a table of held-out rows",
}
AT_SOURCE = ("table", "real")  # names of tables where a database is named
VersionOpt = Annotated[bool, typer.Option("--version", help="Show the version and exit.")]


def answer(plain: Any, lines: Iterable[str], *, as_json: bool) -> None:
    """One JSON object on stdout, or lines, which are made only then. Errors: OSError where it cannot be written."""
    if as_json:
        print(json.dumps(plain, ensure_ascii=False), flush=True)
        return
    for line in lines:
        print(line)


def as_file(plain: Any) -> str:
    """Data as the text of a file."""
    return json.dumps(plain, indent=1, ensure_ascii=False) + "\n"


def leave(message: str, code: int) -> NoReturn:
    """One line on stderr, and the exit code: 5 where something was charged, whatever followed."""
    message, code = ended(message, code)
    with contextlib.suppress(OSError):  # nobody may be there to read it; the exit code still tells
        print(f"synth: {' '.join(spelled(message).split())}", file=sys.stderr, flush=True)
    try:
        sys.stdout.flush()
    except OSError:  # a stream that can no longer be written must not change the exit code when the process ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def foreign(error: Exception) -> tuple[str, int]:
    """Message and exit code of an error that is not ours; its text is shown only where it cannot quote a cell."""
    shown = getattr(error, "format_message", None)  # a usage error of the command line parser
    if shown is not None:
        words = shown()
        for theirs, ours in NUMBERS.items():
            words = words.replace(theirs, ours)
        _, _, below = str(getattr(getattr(error, "ctx", None), "command_path", "")).partition(" ")
        help_of = " ".join(["synth", *below.split(), "--help"])
        return f"{(unknown(error) or words).rstrip('.')} (see `{help_of}`)", UsageError.exit_code
    if isinstance(error, OSError):
        return f"{error.filename or 'file'}: {error.strerror or type(error).__name__}", MACHINE
    return f"internal error {type(error).__name__}; please report it with the command you ran", 1


def tell(notes: Iterable[str]) -> None:
    """Lines on stderr."""
    for line in notes:
        print(spelled(line), file=sys.stderr)


def names(text: str | None) -> list[str]:
    """The parts of a comma-separated option.

    >>> names("A, B,,C")
    ['A', 'B', 'C']
    """
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def check_writable(path: Path) -> None:
    """Refuses a file that could not be written. Errors: UsageError."""
    try:
        whole_files.check(path)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = getattr(error, "strerror", None) or "no name of a file"
        raise UsageError(f"{path}: {reason}; choose another --out") from None
    if path.is_dir() or not path.absolute().parent.is_dir() or not os.access(path.absolute().parent, os.W_OK):
        raise UsageError(f"{path}: cannot be written; choose another --out")


def write_text(path: Path, text: str) -> None:
    """Writes a file. Errors: UsageError when it cannot be written."""
    try:
        whole_files.write(path, text)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}; choose another --out") from None


def spelled(text: str) -> str:
    """A message, or several, as the command line writes them.

    >>> spelled("`options.steps=0`: too few; lower `epsilon=`, or see `synth.draft(dataset='my data', unit=X)`")
    "--option steps=0: too few; lower --epsilon, or see `synth schema init --dataset 'my data' --unit X`"
    """
    if os.environ.get(AS_PYTHON) == "python":
        return text

    def function(name: str, given: Mapping[str, str]) -> str:
        options = [_option(n, shlex.quote(v)) for n, v in given.items()]
        return f"`{' '.join(['synth', COMMANDS.get(name, name), *options])}`"

    return errors.spelled(text, option=_option, function=function)


def _option(name: str, value: str) -> str:
    """An option with its value, which may be empty.

    >>> _option("seed", "-1"), _option("assume_public", "True"), _option("table", ""), _option("linked", "False")
    ('--seed -1', '--assume-public', 'TABLE', '--unlinked')
    """
    if value == "False" and name in NEGATED:
        return NEGATED[name]
    if name in ARGUMENTS:
        return f"{ARGUMENTS[name]} {value}".strip()
    whole, dot, part = name.partition(".")
    given = f"{part}={value}".rstrip("=") if dot else value
    known = [f"--{flag.replace('_', '-')}" for flag in FLAGS.get(whole, (whole,))]
    flag = known[0] if len(known) == 1 else next((f for f in known if f in _running()), known[0])
    return f"{flag} {given}".strip() if given != "True" else flag


def _running() -> set[str]:
    """The flags of the command that this process was asked for."""
    command: Any = commands() if commands else None
    for word in sys.argv[1:]:
        command = getattr(command, "commands", {}).get(word, command)
    return set(flags(command)) if command else set()


def flags(command: Any) -> Iterator[str]:
    """Every flag of a command and of those below it."""
    for param in command.params:
        yield from (*getattr(param, "opts", ()), *getattr(param, "secondary_opts", ()))
    for one in getattr(command, "commands", {}).values():
        yield from flags(one)


def guided(ctx: typer.Context, version: VersionOpt = False) -> None:
    """The usual way, where no command is named."""
    if version:
        from importlib.metadata import version as installed

        print(f"synth {installed('facsimile-synth')}")
        sys.exit(0)
    if ctx.invoked_subcommand is None:
        print(GUIDE)
        sys.exit(UsageError.exit_code)


def asked(arguments: Sequence[str]) -> list[str]:
    """The arguments, with ``help COMMAND`` as ``COMMAND --help``.

    >>> asked(["help", "run"]), asked(["run", "people.csv"])
    (['run', '--help'], ['run', 'people.csv'])
    """
    return [*arguments[1:], "--help"] if arguments[:1] == ["help"] else list(arguments)


def helped(ctx: typer.Context) -> None:
    """The help of a group of commands, where none of them is named."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        sys.exit(UsageError.exit_code)


def unknown(error: Exception) -> str:
    """A usage error about a command or option that is not there, with what was meant; empty for another error.

    Commands are meant that end as what was typed, or look like it, the ones below the same group first.
    """
    words, context = str(getattr(error, "message", "")), getattr(error, "ctx", None)
    option, command = getattr(error, "option_name", None), UNKNOWN.match(words)
    if option and context is not None and hasattr(error, "possibilities"):
        near = likely(str(option), sorted({o for p in context.command.params for o in p.opts if o.startswith("--")}))
        return f"{option}: no such option" + (f"; {near}" if near else "")
    if command is None:
        return ""
    typed, every = command[1], list(_paths(context.find_root().command)) if context else []
    group = tuple(str(getattr(context, "command_path", "synth")).split()[1:])
    offered = [p for p in every if p[-1] == typed]
    for among in ([p for p in every if p[: len(group)] == group], every):
        alike = get_close_matches(typed, {p[-1] for p in among}, n=1)
        offered = offered or [p for p in among if p[-1] in alike]
    if not offered:
        return f"{typed}: no such command; choose one of those that the help lists"
    meant = " or ".join(f"`synth {' '.join(p)}`" for p in offered[:MOST])
    return f"{typed}: no such command; did you mean {meant}?"


def _paths(command: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command, groups too, by the words that lead to it."""
    for name, one in getattr(command, "commands", {}).items():
        yield (*above, name)
        yield from _paths(one, (*above, name))


def guarded(command: Any) -> Any:
    """The command, every part of which looks for what it reads before it begins."""
    for one in getattr(command, "commands", {}).values():
        guarded(one)
    begin = command.invoke

    def invoke(ctx: Any) -> Any:
        _check(ctx.params, of=str(ctx.info_name))
        return begin(ctx)

    command.invoke = invoke
    return command


def _check(given: Mapping[str, Any], *, of: str = "") -> None:
    """Looks for every path. ``given``: what the command ``of`` was given, by parameter. Errors: InputError."""
    for name, remedy in REMEDIES.items():
        if name in AT_SOURCE and (given.get("source") or of == "policy"):
            continue
        value = given.get(name)
        for path in value if isinstance(value, list | tuple) else [value]:
            with contextlib.suppress(OSError, RuntimeError, ValueError):  # no path can be so long, or have such signs
                if not isinstance(path, str | Path) or Path(path).expanduser().exists():
                    continue
            raise InputError(f"{path}: no such file or folder; {remedy}")
