"""Folders for tables that were sent here or copied from a database: whose they are, and what a killed process left.

Each has a note of who made it, for whom, and in which process. A folder becomes a stored table when its description
stands beside it; until then it is of use only to the process that made it.
"""

import json
import os
import secrets
import shutil
from pathlib import Path
from typing import Any

import synth
from synth.app_api import jobs
from synth.languages import _

NOTE = "wizard.json"  # the description and choices of a stored table
MAKER = "maker.json"


def folder() -> Path:
    """Where uploaded tables lie, readable by this user alone."""
    place = jobs.home().parent / "uploads"
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    return place


def new_place(owner: str = "") -> Path:
    """A private folder for one table's copy and description. Errors: InputError when there is no room."""
    place = folder() / secrets.token_hex(8)
    try:
        place.mkdir(mode=0o700)
        maker = {"owner": owner, "pid": os.getpid(), "pid_started": jobs.identity()}
        jobs.write_file(place / MAKER, json.dumps(maker))
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise synth.InputError(
            _("the table's folder cannot be made ({strerror}); free some space").format(strerror=error.strerror)
        ) from None
    return place


def discard(place: Path) -> None:
    """Removes an uploaded table's folder; anything else is left alone."""
    if place.parent == folder():
        shutil.rmtree(place, ignore_errors=True)


def owner(place: Path) -> str | None:
    """Whose table the folder holds, None where nobody can tell: then it is nobody's."""
    for name in (NOTE, MAKER):
        reported = _read(place / name)
        if isinstance(reported.get("owner"), str):
            return str(reported["owner"])
    return None


def sweep() -> int:
    """Removes what no stored table needs and no living process uses; how many things. For a server's start.

    A process killed in the middle leaves an upload without a description, or a copy for a comparison.
    """
    left = [place for place in folder().iterdir() if not _stored(place) and not _in_use(place)]
    for place in left:
        if place.is_dir() and not place.is_symlink():
            gone = place.with_name(f".gone-{secrets.token_hex(8)}")  # a worker that outlived its server finds nothing
            place.rename(gone)
            shutil.rmtree(gone)
        else:
            place.unlink(missing_ok=True)
    return len(left)


def _stored(place: Path) -> bool:
    return place.name.startswith("sample-") or "plain" in _read(place / NOTE)


def _in_use(place: Path) -> bool:
    maker = _read(place / MAKER)
    return isinstance(maker.get("pid"), int) and jobs.alive(maker["pid"], maker.get("pid_started"))


def _read(file: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return parsed if isinstance(parsed, dict) else {}
