"""The name a table is charged under unless one is declared: the same for the application and the command line."""

from pathlib import Path
from typing import Any


def dataset_of(path: str | Path, *, book: Any = None) -> str:
    """The file's (or folder's) name up to its first point.

    ``book``: where the ledger knows the file under its whole path, as all files once were, that name stays.

    Privacy: public only.

    >>> dataset_of("data/town_survey.csv.gz")
    'town_survey'
    """
    whole = Path(path).resolve()
    if book is not None and book.summary(str(whole)):
        return str(whole)
    return whole.name.split(".")[0].strip() or str(whole)
