"""The real table of a run, for the steward's eyes: where it lies, or a private copy for the moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import synth
from app.session import access
from app.session.aside import TooLongError, worker
from app.table import owning, work
from synth.app_api import jobs
from synth.languages import _

PATIENCE = 600.0  # seconds that a copy may take
GONE = "the real table is no longer stored here, so there is nothing to compare with"


def there(job: jobs.Job) -> bool:
    """Whether the real table can still be had, as far as one sees without asking a database."""
    request = job.request()
    table = Path(str(request.get("table", "")))
    if not owning.open_to(access.me(), table, request.get("source")):
        return False
    return bool(request.get("source")) or table.is_file() or table.is_dir()


@contextmanager
def tables(job: jobs.Job, release: Path) -> Iterator[Path]:
    """The real tables of a run as a folder: itself, or copies that are removed at the end. Errors: InputError."""
    request = job.request()
    if not request.get("source"):
        yield Path(str(request["table"]))
        return
    place = work.new_place(access.me().name)
    folder = place / "copies"
    folder.mkdir(mode=0o700)
    try:
        asked = (request["source"], "", str(folder), str(release / "schema.json"))
        worker.ask("fetched", *asked, seconds=PATIENCE, keep=False)
        yield folder
    except TooLongError:
        raise synth.InputError(_("copying the table from its database takes too long here")) from None
    finally:
        work.discard(place)


@contextmanager
def table(job: jobs.Job, release: Path) -> Iterator[Path]:
    """The real table as a file: itself, or a copy that is removed at the end. Errors: InputError."""
    request = job.request()
    if not there(job):
        raise synth.InputError(_(GONE))
    if not request.get("source") and Path(str(request["table"])).is_file():
        yield Path(str(request["table"]))
        return
    place = work.new_place(access.me().name)  # with what else a copy needs meanwhile, so that all of it goes
    copy = place / "copy.parquet"
    asked = (request.get("source"), request["table"], str(copy), str(release / "schema.json"))
    try:
        worker.ask("fetched", *asked, seconds=PATIENCE, keep=False)
        yield copy
    except TooLongError:
        raise synth.InputError(_("copying the table from its database takes too long here")) from None
    finally:
        work.discard(place)
