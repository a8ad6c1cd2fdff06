"""How the command line writes what the library's messages name in Python: options as flags, functions as commands."""

import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from synth import errors

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


def spelled(text: str) -> str:
    """A message, or several, as the command line writes them.

    >>> spelled("`options.steps=0`: too few; lower `epsilon=`, or see `synth.draft(dataset='my data', unit=X)`")
    "--option steps=0: too few; lower --epsilon, or see `synth schema init --dataset 'my data' --unit X`"
    """
    return text if os.environ.get(AS_PYTHON) == "python" else errors.spelled(text, option=_option, function=_function)


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
    return f"{_flag(whole)} {given}".strip() if given != "True" else _flag(whole)


def _flag(name: str) -> str:
    known = [f"--{flag.replace('_', '-')}" for flag in FLAGS.get(name, (name,))]
    return known[0] if len(known) == 1 else next((f for f in known if f in _running()), known[0])


def _function(name: str, given: Mapping[str, str]) -> str:
    options = [_option(n, shlex.quote(v)) for n, v in given.items()]
    return f"`{' '.join(['synth', COMMANDS.get(name, name), *options])}`"


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
