"""Whose tables a command may compare with: all in the ledger, or with a file of roles those that its owner may open."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.jobs.job import FOLDER

if TYPE_CHECKING:
    from synth.privacy.ledger.row_marks import Audience

SeparateOpt = Annotated[
    bool, typer.Option("--separate", help="No person of this table is in another dataset, though rows look alike.")
]


def audience(job: Path | None = None) -> "Audience":
    """What the owner of the ``job`` may know, by default of the one that this process works for."""
    from synth.pipeline.same_rows import audience_of

    return audience_of(_owner(job))


def _owner(job: Path | None) -> str:
    named = job or os.environ.get(FOLDER)
    if not named:
        return ""
    try:
        return str(json.loads((Path(named) / "request.json").read_text(encoding="utf-8")).get("owner") or "")
    except (OSError, ValueError, AttributeError):
        return ""
