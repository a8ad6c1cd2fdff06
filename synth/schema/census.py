"""Census tasks fetched by folktables: a table, and a schema whose facts are those of the publisher's code book.

Everything here is public: no ledger is touched. Files come from the Census Bureau, by way of folktables (Ding et al.,
arXiv 2108.04884), and stay in a cache folder, so that a second call needs no network.
"""

import io
import shutil
import zipfile
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from synth.errors import InputError, UsageError, meant, need
from synth.schema.table import Column, Schema

TASKS = {
    "acs-income": "ACSIncome",
    "acs-public-coverage": "ACSPublicCoverage",
    "acs-mobility": "ACSMobility",
    "acs-employment": "ACSEmployment",
    "acs-travel-time": "ACSTravelTime",
}
BOOK = "PUMS_Data_Dictionary_{year}.csv"  # the Bureau's name of the code book; folktables keeps it as definition.csv
FIRST_YEAR = 2017  # the first with a code book that programs can read
AREAS = ("PUMA", "POWPUMA")  # their codes stand in books of their own; those of the state's published file are taken


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What was fetched: the table as text, empty cells where a value does not apply, and its schema."""

    table: pd.DataFrame
    schema: Schema


def fetch(task: str, *, state: str, year: int, cache: str | Path, folder: str | Path | None = None) -> Fetched:
    """One task's rows of one state and year, and their schema. ``cache``: where the publisher's files are kept.

    ``folder``: of the publisher's files, downloaded by hand; then nothing is fetched (``bring`` says which).
    The target is 0 or 1, as folktables defines it. Errors: UsageError for an unknown task, state or year, or without
    the extra [fetch]; InputError when a file is neither in the cache nor to be had.
    """
    need("fetching public tables", "fetch", "folktables")
    import folktables
    from folktables.load_acs import _STATE_CODES, state_list

    if task not in TASKS:
        raise UsageError(f"task {task!r} is unknown; {meant(task, TASKS)}")
    if state not in state_list:
        raise UsageError(f"`state={state}`: must be a state's two letters, such as CA, or PR")
    if year < FIRST_YEAR:
        raise UsageError(f"`year={year}`: machine-readable code books begin with {FIRST_YEAR}")
    if folder is not None:
        bring(folder, cache, state=state, code=_STATE_CODES[state], year=year)
    source = folktables.ACSDataSource(survey_year=year, horizon="1-Year", survey="person", root_dir=str(cache))
    rows = _file(lambda: source.get_data(states=[state], download=True), f"the {year} person file of {state}", cache)
    book = _file(lambda: source.get_definitions(download=True), f"the {year} code book", cache)
    problem = getattr(folktables, TASKS[task])
    absent = [n for n in [*problem.features, problem.target] if n not in rows.columns]
    if absent:
        raise InputError(
            f"the {year} person file of {state} has no column {', '.join(absent)}, which {task} needs; the publisher "
            "renamed some after 2018: choose `year=2018` or 2017"
        )
    return _made(task, state, year, problem, rows, book)


def _file(read: Any, what: str, cache: str | Path) -> pd.DataFrame:
    """What folktables reads, which tells its troubles to stdout and then does not find the file."""
    try:
        with redirect_stdout(io.StringIO()):
            table = read()
    except UsageError:
        raise
    except Exception as error:  # whatever the network, a proxy or a half-written archive may cause
        raise InputError(
            f"{what} could not be fetched ({type(error).__name__}): it comes from www2.census.gov, which this computer "
            f"must reach, or lie under {Path(cache).name}/ as folktables keeps it (docs/sources.md)"
        ) from None
    if not isinstance(table, pd.DataFrame) or table.empty:
        raise InputError(f"{what} is empty; delete it from {Path(cache).name}/ and fetch it again")
    return table


def _made(task: str, state: str, year: int, problem: Any, rows: pd.DataFrame, book: pd.DataFrame) -> Fetched:
    """The task's table and schema. folktables' own arrays would write 0 where nothing applies; here cells are empty."""
    values, target, _ = problem.df_to_pandas(rows)
    with_gaps = problem._preprocess(rows)  # the same rows with what is missing still missing
    texts = {n: _texts(with_gaps[n]) for n in problem.features}
    yes = target.to_numpy().ravel().astype(bool)
    if len(values) != len(with_gaps) or len(yes) != len(with_gaps):
        raise InputError(f"{task}: folktables kept other rows than were read; install the pinned version")
    table = pd.DataFrame({**texts, problem.target: np.where(yes, "1", "0")})
    columns = {n: _column(n, book, rows[n]) for n in problem.features}
    asked = f"1 where {_label(problem.target, book)} is as {TASKS[task]} asks"
    columns[problem.target] = Column(type="boolean", categories=("0", "1"), source="public", description=asked)
    schema = Schema(dataset=f"{task}-{state}-{year}", target=problem.target, positive="1", columns=columns)
    return Fetched(table=table, schema=schema)


def _texts(values: pd.Series) -> pd.Series:
    """Whole numbers as digits, missing ones as empty cells."""
    numbers = pd.to_numeric(values, errors="coerce")
    return numbers.map(lambda v: "" if pd.isna(v) else f"{v:.0f}").reset_index(drop=True)


def _column(name: str, book: pd.DataFrame, values: pd.Series) -> Column:
    """A column's facts from the code book. Area codes, and whether cells can be empty, are the publisher's rows'."""
    lines = book[(book[0] == "VAL") & (book[1] == name)]
    facts: dict[str, Any] = {"source": "public", "description": _label(name, book)}
    empty = bool(values.isna().any())
    if name in AREAS:
        areas = tuple(t for t in dict.fromkeys(_texts(values.sort_values())) if t)
        return Column(type="categorical", categories=areas, nullable=empty, **facts)
    if lines.empty:
        raise InputError(f"the code book does not explain column {name}; choose another `year=`")
    low, high = (pd.to_numeric(lines[i], errors="coerce") for i in (4, 5))
    facts["nullable"] = bool(low.isna().any()) or empty
    if str(lines.iloc[0][2]) == "N" or ((low != high) & low.notna() & high.notna()).any():
        return Column(type="integer", min=int(np.nanmin(low)), max=int(np.nanmax(high)), **facts)
    labels: dict[str, str] = {}
    for code, label in zip(low[low.notna()], lines[6][low.notna()], strict=True):
        labels.setdefault(f"{code:.0f}", str(label).strip())
    return Column(type="categorical", categories=tuple(labels), labels=tuple(labels.values()), **facts)


def _label(name: str, book: pd.DataFrame) -> str:
    """What the code book calls a column."""
    lines = book[(book[0] == "NAME") & (book[1] == name)]
    return name if lines.empty else str(lines.iloc[0][4]).strip()


def bring(folder: str | Path, cache: str | Path, *, state: str, code: str, year: int) -> None:
    """Puts the person file and the code book of one state and year from ``folder`` into folktables' ``cache``.

    ``code``: the state's number, two digits. In the folder, or in ``YEAR/1-Year`` under it, lie ``csv_pSS.zip`` (SS the
    state's letters, small) or ``psam_pNN.csv``, and ``PUMS_Data_Dictionary_YEAR.csv`` or ``definition.csv``. What the
    cache holds already is taken from there anew. Errors: UsageError for a folder that is none, InputError naming a file
    that lacks, cannot be read or is of another year.

    Privacy: public only.
    """
    source, place = Path(folder), Path(cache) / str(year) / "1-Year"
    if not source.is_dir():
        raise UsageError(f"`folder={source.name}`: is no folder; name the one that holds the Census Bureau's files")

    def find(*names: str) -> Path | None:
        there = (p for n in names for p in (source / n, source / str(year) / "1-Year" / n))
        return next((p for p in there if p.is_file()), None)

    person, packed, named = f"psam_p{code}.csv", f"csv_p{state.lower()}.zip", BOOK.format(year=year)
    rows, archive, book = find(person), find(packed), find(named, "definition.csv")
    if rows is None and archive is None:
        raise InputError(f"`folder={source.name}`: holds neither {packed} nor {person}, the {year} persons of {state}")
    try:
        place.mkdir(parents=True, exist_ok=True)
        if rows is None:
            with zipfile.ZipFile(str(archive)) as unpacked, unpacked.open(person) as read:
                (place / person).write_bytes(read.read())
        if book is None:
            raise InputError(f"`folder={source.name}`: lacks the code book {named}")
        for found, to in ((rows, place / person), (book, place / "definition.csv")):
            if found is not None and found.resolve() != to.resolve():
                shutil.copyfile(found, to)
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"`folder={source.name}`: a file cannot be read or kept ({type(error).__name__})") from None
    with (place / person).open(encoding="utf-8", errors="replace") as lines:  # its name says no year; its serials do
        names, first = (next(lines, "").strip().replace('"', "").split(",") for _ in range(2))
    if dict(zip(names, first, strict=False)).get("SERIALNO", "")[:4] != str(year):
        raise InputError(f"{person}: its serial numbers are not of {year}; choose another `year=` or file")
