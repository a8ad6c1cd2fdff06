"""Whose datasets a command may compare with: all in the ledger, or those that a file of roles gives its owner."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from synth.jobs.job import FOLDER

SeparateOpt = Annotated[
    bool, typer.Option("--separate", help="No person of this table is in another dataset, though rows look alike.")
]


def may_spend(job: Path | None = None) -> Callable[[str], bool]:
    """On which datasets whoever runs this may spend.

    Who may open the ledger's file is the steward of all of it. With a file of roles it is the owner of the ``job``, by
    default the one that this process works for, and without an owner nobody: then nothing is compared, rather than
    told to somebody who may not know it.
    """
    from synth.jobs import roles

    place = roles.place()
    if place is None:
        return lambda _: True
    rules = roles.load(place)
    owner = _owner(job)
    visitor = rules.visitor(owner) if owner else None
    return lambda name: visitor is not None and rules.may_spend(visitor, name)


def _owner(job: Path | None) -> str:
    named = job or os.environ.get(FOLDER)
    if not named:
        return ""
    try:
        return str(json.loads((Path(named) / "request.json").read_text(encoding="utf-8")).get("owner") or "")
    except (OSError, ValueError, AttributeError):
        return ""
