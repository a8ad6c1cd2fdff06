"""Published totals: tables of counts that are public facts, and that the synthetic table is to agree with.

A table of totals counts the rows by one to four columns. It is printed somewhere already; nothing here reads a row.
Conditions of a line are those of rules: a value, ``a|b``, or ``low..high``.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from synth.errors import InputError
from synth.files import regular_files
from synth.languages import Said
from synth.schema.areas import lines_of, lowest
from synth.schema.column import UNREAD, Column

MOST_COLUMNS = 4  # of a table of totals
MOST_TABLES = 200
COUNT = "count"  # what the last column of a file is called
MOST_LINES = 200_000


class Totals(BaseModel):
    """A printed table of counts.

    ``counts``: lines of a condition for each column, then the number of rows. ``rounded``: the base to whose nearest
    multiple each was rounded. ``unlisted``: what cells that no line names are: an error, ``zero``, or ``open`` (not
    published). ``published``: where it is printed. ``file``: the file that the counts were read from.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    columns: tuple[str, ...] = Field(min_length=1, max_length=MOST_COLUMNS)
    counts: tuple[tuple[str, ...], ...] = Field(min_length=1)
    rounded: int | None = Field(default=None, ge=1)
    unlisted: Literal["zero", "open"] | None = None
    published: str | None = None
    file: str | None = None

    @property
    def name(self) -> str:
        """The columns that it counts by."""
        return " x ".join(self.columns)


def form_problems(totals: Sequence[Totals], columns: Mapping[str, Column], given: Collection[str]) -> Iterator[str]:
    """A sentence for each rule of form that tables of totals break; ``given``: columns that a rule gives."""
    if len(totals) > MOST_TABLES:
        yield Said("it has {} tables of totals, at most {} are read", len(totals), MOST_TABLES)
    for number, one in enumerate(totals, start=1):
        for problem in _form_problems(one, columns, given):
            yield Said("totals {} ({}): {}", number, one.name, problem)


def _form_problems(one: Totals, columns: Mapping[str, Column], given: Collection[str]) -> Iterator[str]:
    if not (one.published or "").strip():
        yield Said('say where it is printed, as "published": a count that is printed nowhere is no public fact')
    if len(set(one.columns)) < len(one.columns):
        yield Said("it names a column twice")
    elif len({lowest(columns, n) for n in one.columns}) < len(one.columns):
        yield Said("two of its columns are areas of which one lies in the other; count by the smaller ones alone")
    for name in one.columns:
        if name not in columns:
            yield Said("{!r} is not among the columns", name)
        elif columns[name].type in UNREAD:
            what = Said("an identifier") if columns[name].type == "identifier" else Said("left out")
            yield Said("{!r} is {}, by which no rows are counted; remove the table", name, what)
        elif name in given:
            yield Said("{!r} is given by a constraint; count by the columns that it rests on", name)
    for line in one.counts:
        if len(line) != len(one.columns) + 1:
            yield Said("each line needs a condition for each of {}, then its count", ", ".join(one.columns))
            return
        count = line[-1].strip()
        if not count.isascii() or not count.isdigit() or len(count) > 15:
            negative = count.startswith("-") and count[1:].isdigit()
            rule = Said("is below 0, and no number of rows is") if negative else Said("is no whole number of rows")
            yield Said("the count of {} {}; correct it", ", ".join(line[:-1]), rule)
            return


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
        raise InputError("totals {}: name a file beside the schema, without folders", one["file"])
    try:
        text = regular_files.text(folder / one["file"], encoding="utf-8-sig")
    except OSError as error:
        raise InputError("totals {}: {}; put it beside the schema", one["file"], error) from None
    except UnicodeDecodeError:
        raise InputError("totals {}: not UTF-8 text; save it as UTF-8 CSV", one["file"]) from None
    return {**one, "file": Path(one["file"]).name, **table(text, name=one["file"])}


def table(text: str, *, name: str) -> dict[str, Any]:
    """``columns`` and ``counts`` of a CSV's text, the counts in its last column. Errors: InputError.

    Privacy: public only.

    >>> table("SEX,count\\n1,20\\n2,22\\n", name="sex.csv")
    {'columns': ['SEX'], 'counts': [['1', '20'], ['2', '22']]}
    """
    lines = lines_of(text)
    if len(lines) < 2 or lines[0][-1].strip().lower() != COUNT:
        raise InputError("totals {}: its last column must be called {}, after those that it counts by", name, COUNT)
    if len(lines) > MOST_LINES:
        raise InputError("totals {}: it has {:,} lines, at most {:,} are read", name, len(lines), MOST_LINES)
    return {"columns": [c.strip() for c in lines[0][:-1]], "counts": lines[1:]}
