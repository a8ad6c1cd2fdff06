"""Paths that a command reads: one that is not there is said to be missing before anything else is said of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synth.errors import InputError

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


def guarded(command: Any) -> Any:
    """The command, every part of which looks for what it reads before it begins."""
    for one in getattr(command, "commands", {}).values():
        guarded(one)
    begin = command.invoke

    def invoke(ctx: Any) -> Any:
        check(ctx.params, of=str(ctx.info_name))
        return begin(ctx)

    command.invoke = invoke
    return command


def check(given: Mapping[str, Any], *, of: str = "") -> None:
    """Looks for every path. ``given``: what the command ``of`` was given, by parameter. Errors: InputError."""
    for name, remedy in REMEDIES.items():
        if name in AT_SOURCE and (given.get("source") or of == "policy"):
            continue
        value = given.get(name)
        for path in value if isinstance(value, list | tuple) else [value]:
            if isinstance(path, str | Path) and not _there(Path(path)):
                raise InputError(f"{path}: no such file or folder; {remedy}")


def _there(path: Path) -> bool:
    """Whether something is at this path; a text that no path can be, for its length or its signs, is none."""
    try:
        return path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False
