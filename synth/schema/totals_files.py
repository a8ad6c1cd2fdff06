"""Totals that stand in CSV files beside a schema: a column for each column counted by, and ``count`` as the last."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from synth.errors import InputError
from synth.files import regular_files

COUNT = "count"
MOST_LINES = 200_000


def inlined(plain: Any, folder: Path) -> Any:
    """A schema's JSON data with every table of totals that names a ``file`` read from it. Errors: InputError.

    Privacy: public only.
    """
    if not isinstance(plain, dict) or not isinstance(plain.get("totals"), list):
        return plain
    return {**plain, "totals": [_inlined(one, folder) for one in plain["totals"]]}


def _inlined(one: Any, folder: Path) -> Any:
    one = {"file": one} if isinstance(one, str) else one
    if not isinstance(one, Mapping) or not isinstance(one.get("file"), str) or "counts" in one:
        return one
    if Path(one["file"]).name != one["file"]:
        raise InputError(f"totals {one['file']}: name a file beside the schema, without folders")
    path = folder / one["file"]
    try:
        text = regular_files.text(path, encoding="utf-8-sig")
    except OSError as error:
        raise InputError(
            f"totals {one['file']}: {error.strerror or 'cannot be read'}; put it beside the schema"
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"totals {one['file']}: not UTF-8 text; save it as UTF-8 CSV") from None
    return {**one, "file": Path(one["file"]).name, **table(text, name=one["file"])}


def table(text: str, *, name: str) -> dict[str, Any]:
    """``columns`` and ``counts`` of a CSV's text, the counts in its last column. Errors: InputError.

    Privacy: public only.

    >>> table("SEX,count\\n1,20\\n2,22\\n", name="sex.csv")
    {'columns': ['SEX'], 'counts': [['1', '20'], ['2', '22']]}
    """
    first = text.split("\n", 1)[0]
    mark = max(",;\t", key=first.count)
    try:
        lines = [line for line in csv.reader(io.StringIO(text), delimiter=mark) if any(c.strip() for c in line)]
    except csv.Error:
        raise InputError(f"totals {name}: not a CSV table; save it as UTF-8 CSV") from None
    if len(lines) < 2 or lines[0][-1].strip().lower() != COUNT:
        raise InputError(f"totals {name}: its last column must be called {COUNT}, after those that it counts by")
    if len(lines) > MOST_LINES:
        raise InputError(f"totals {name}: it has {len(lines):,} lines, at most {MOST_LINES:,} are read")
    return {"columns": [c.strip() for c in lines[0][:-1]], "counts": lines[1:]}
