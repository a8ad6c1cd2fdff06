"""A table in memory as columns of text, each held as its distinct texts and one code a row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa

from synth.errors import EmptyTableError, InputError, UsageError
from synth.schema.dialect import Dialect
from synth.schema.names import twins
from synth.schema.table import MOST_COLUMNS, canonical
from synth.sources.formats import arrow_text
from synth.sources.formats.arrow_text import check_type, encode
from synth.sources.formats.cell_formats import Reading


@dataclass(eq=False)
class Text:
    """One column: ``values`` (m,) object, the distinct texts that occur; ``codes`` (num_rows,) int32 into them.

    A missing cell is the empty text.
    """

    values: np.ndarray
    codes: np.ndarray


class Table:
    """Rows as text, column by column; columns are turned into text when first asked for.

    >>> t = from_frame(pd.DataFrame({"AGE": [30, 41, 30], "SEX": ["f", None, "m"]}))
    >>> t.names, t.num_rows
    (('AGE', 'SEX'), 3)
    >>> t.column("AGE").values.tolist(), t.column("AGE").codes.tolist()
    (['30', '41'], [0, 1, 0])
    """

    def __init__(self, columns: Mapping[str, pa.ChunkedArray], *, num_rows: int) -> None:
        self.names = tuple(columns)
        self.num_rows = num_rows
        self._columns = dict(columns)
        self._texts: dict[str, Text] = {}
        self._valid: set[str] = set()
        self.dialect: Dialect | None = None  # how the CSV file seems to be written, where a draft asked
        self.labels: Mapping[str, Mapping[str, str]] = {}  # by column and code, where the file states any, for drafts
        self.titles: Mapping[str, str] = {}  # by column, likewise

    def __repr__(self) -> str:
        """Shape and names only: a representation may land in a log."""
        return f"Table({len(self.names)} columns)"

    def column(self, name: str) -> Text:
        """The distinct texts of a column and each row's code.

        Numbers are written in their shortest form ("3", "19.0"), truth values as "True" and "False", dates as
        YYYY-MM-DD, times as YYYY-MM-DDTHH:MM:SS, null and NaN as "".
        Errors: KeyError for an unknown name; InputError for a type that has no text.
        """
        if name not in self._texts:
            self._texts[name] = Text(*encode(self.cells(name), name=name))
        return self._texts[name]

    def only(self, names: Iterable[str]) -> "Table":
        """The table with these columns alone. Errors: KeyError for an unknown name."""
        part = Table({n: self._columns[n] for n in names}, num_rows=self.num_rows)
        part.dialect, part.labels, part.titles = self.dialect, self.labels, self.titles
        return part

    def kind(self, name: str) -> pa.DataType:
        """The type of a column's cells."""
        return self._columns[name].type

    def cells(self, name: str) -> pa.ChunkedArray:
        """A column's cells as they came, but for bytes of a text that are not UTF-8 (arrow_text.py)."""
        if name not in self._valid:
            self._columns[name] = arrow_text.valid_cells(self._columns[name])
            self._valid.add(name)
        return self._columns[name]

    def read_by(self, reading: Reading) -> "Table":
        """The table with its texts read as the schema says they are written."""
        columns = {n: reading.cells(n, self.cells(n) if n in reading.forms else a) for n, a in self._columns.items()}
        return Table(columns, num_rows=self.num_rows) if reading.forms else self


def from_frame(frame: pd.DataFrame) -> Table:
    """A table from a pandas data frame; its index is left out.

    Errors: UsageError when it is no data frame; InputError for no rows or columns, names that are empty, repeated
    or not text, and columns whose type has no text.
    """
    if not isinstance(frame, pd.DataFrame):
        raise UsageError("expected a pandas DataFrame; pass a file name to read a file")
    names = list(frame.columns)
    for name in names:
        if not isinstance(name, str):
            raise InputError("data frame: column name {!r} is not text; rename it, df.columns.astype(str)", name)
    check_names(names, thing="data frame")
    if len(frame) == 0:
        raise EmptyTableError("data frame: it has no rows; pass at least one")
    columns = {n: _arrow(frame.iloc[:, i], name=n) for i, n in enumerate(names)}
    return Table(columns, num_rows=len(frame))


def check_names(names: Sequence[str], *, thing: str) -> None:
    """Errors: InputError when there is no name, an empty one, or two that are one in canonical form.

    Every reader asks this of all columns that are there, also those that the schema does not name.
    """
    if not names:
        raise InputError("{}: it has no columns; at least one is needed", thing)
    if (columns := len(names)) > MOST_COLUMNS:
        raise InputError("{}: it has {:,} columns, at most {:,} are read; leave some out", thing, columns, MOST_COLUMNS)
    for i, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError("{}: column {} has no name; name it, or leave it out (a saved row index?)", thing, i)
    if pair := twins(names):
        one, name = pair
        if one == name:
            raise InputError("{}: two columns are named {!r}; rename or drop one{}", thing, name, _first_line(name))
        raise InputError(
            "{}: columns {!r} and {!r} differ only in capitals or in how a character is written, which an engine "
            "may take for one name; rename or drop one",
            thing,
            one,
            name,
        )


def _first_line(name: str) -> str:
    """What else may be wrong where a name looks like a value.

    >>> _first_line("1"), _first_line("sex")
    (', or put the line of names before the rows if the file has none', '')
    """
    number = name.strip().lstrip("-").replace(".", "", 1).replace(",", "", 1).isdigit()
    return ", or put the line of names before the rows if the file has none" if number else ""


def canonical_texts(values: Iterable[str]) -> list[str]:
    """``canonical`` of many texts, quick where there is nothing to do.

    >>> canonical_texts(["3.0", " a ", "b"])
    ['3', 'a', 'b']
    """
    return [canonical(v) if v[-1:] == "0" else v for v in map(str.strip, values)]


def _arrow(series: pd.Series, *, name: str) -> pa.ChunkedArray:
    """The series as arrow data: of the type that the frame states, objects as text one by one."""
    if isinstance(series.dtype, pd.CategoricalDtype):  # codes into the categories, each of them written alone
        listed = _arrow(pd.Series(series.cat.categories), name=name).combine_chunks()
        listed = listed.chunk(0) if isinstance(listed, pa.ChunkedArray) else listed
        codes = series.cat.codes.to_numpy()
        array = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), listed)
    elif series.dtype == object:
        array = arrow_text.object_texts(series.array)
    else:
        try:
            array = pa.array(series, from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a type that Arrow has no name for
            array = arrow_text.object_texts(series.astype(object).array)
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    check_type(chunked.type, name=name)
    return chunked
