"""The Census Bureau's files as they are downloaded by hand, put where folktables looks for them."""

import shutil
import zipfile
from pathlib import Path

from synth.errors import InputError, UsageError

BOOK = "PUMS_Data_Dictionary_{year}.csv"  # the Bureau's name of the code book; folktables keeps it as definition.csv


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
    person, packed = f"psam_p{code}.csv", f"csv_p{state.lower()}.zip"
    names = (BOOK.format(year=year), "definition.csv")
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not (_copied(source, year, (person,), place / person) or _unpacked(source, year, packed, place / person)):
            raise InputError(
                f"`folder={source.name}`: holds neither {packed} nor {person}, the {year} persons of {state}"
            )
        if not _copied(source, year, names, place / "definition.csv"):
            raise InputError(f"`folder={source.name}`: lacks the code book {names[0]}")
    except (OSError, zipfile.BadZipFile, KeyError) as error:
        raise InputError(f"`folder={source.name}`: a file cannot be read or kept ({type(error).__name__})") from None
    _check_year(place / person, year)


def _find(source: Path, year: int, names: tuple[str, ...]) -> Path | None:
    """The first of these files in the folder, or where folktables would keep it under it."""
    places = [p / n for n in names for p in (source, source / str(year) / "1-Year")]
    return next((p for p in places if p.is_file()), None)


def _copied(source: Path, year: int, names: tuple[str, ...], to: Path) -> bool:
    result = _find(source, year, names)
    if result is not None and result.resolve() != to.resolve():
        shutil.copyfile(result, to)
    return result is not None


def _unpacked(source: Path, year: int, packed: str, to: Path) -> bool:
    result = _find(source, year, (packed,))
    if result is None:
        return False
    with zipfile.ZipFile(result) as archive, archive.open(to.name) as read, to.open("wb") as write:
        shutil.copyfileobj(read, write)
    return True


def _check_year(person: Path, year: int) -> None:
    """The file's name says no year; its serial numbers begin with one. Errors: InputError."""
    with person.open(encoding="utf-8", errors="replace") as lines:
        names = next(lines, "").strip().replace('"', "").split(",")
        first = next(lines, "").strip().replace('"', "").split(",")
    serial = dict(zip(names, first, strict=False)).get("SERIALNO", "")
    if serial[:4] != str(year):
        raise InputError(f"{person.name}: its serial numbers are not of {year}; choose another `year=` or file")
