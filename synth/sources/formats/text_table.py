"""A table in memory as columns of text, each held as its distinct texts and one code a row."""

import hashlib
import re
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

TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?")


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
        result = Table({n: self._columns[n] for n in names}, num_rows=self.num_rows)
        result.dialect = self.dialect
        return result

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

    def fingerprint(self, key: bytes) -> bytes:
        """A keyed digest (32 bytes) of the rows, the same for any order of rows and columns.

        Numbers are compared by value, other cells by their trimmed text, so that a Parquet copy of a CSV file has
        the fingerprint of the original. It warns of a table seen before; it is no identity, and it is private:
        whoever holds the key can test guesses.
        """
        digest = Digest(key, self.names)
        digest.add(self)
        return digest.value()


class Digest:
    """The fingerprint of a table that comes in parts; at most ``most`` rows of it, above which there is none."""

    def __init__(self, key: bytes, names: Iterable[str], *, most: int | None = None) -> None:
        self._key, self._names, self._most = key[:64], sorted(names), most
        self._rows, self._sum, self._xor = 0, 0, 0

    @property
    def full(self) -> bool:
        """Whether there were more rows than ``most``."""
        return self._most is not None and self._rows > self._most

    def give_up(self) -> None:
        """There are more rows than ``most``, which need not be seen."""
        self._rows, self._most = 1, 0

    def add(self, table: "Table") -> None:
        """More rows, all columns of each."""
        self._rows += table.num_rows
        if self.full:
            return
        rows = np.zeros(table.num_rows, dtype=np.uint64)
        for name in self._names:
            text = table.column(name)
            salt = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).hexdigest()
            plain = np.array([_comparable(v) for v in text.values], dtype=object)
            rows += pd.util.hash_array(plain, hash_key=salt, categorize=False)[text.codes]
            self._column(name, plain, text.codes)
        rows = _mixed(rows)  # a plain sum of column hashes would not tell which cells share a row
        self._take(rows)
        self._sum = (self._sum + int(rows.sum(dtype=np.uint64))) % 2**64
        self._xor ^= int(np.bitwise_xor.reduce(rows))

    def _column(self, name: str, texts: np.ndarray, codes: np.ndarray) -> None:
        """Told of a batch's cells of one column: its comparable ``texts`` (m,) and each row's index into them."""

    def _take(self, rows: np.ndarray) -> None:
        """Told of a batch's rows, each hashed as a whole."""

    def value(self) -> bytes:
        """The digest (32 bytes) of all rows so far."""
        joined = "\n".join([*map(str, (self._rows, self._sum, self._xor)), *self._names])
        return hashlib.blake2b(joined.encode(), key=self._key, digest_size=32).digest()


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
            raise InputError(f"data frame: column name {name!r} is not text; rename it, df.columns.astype(str)")
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
        raise InputError(f"{thing}: it has no columns; at least one is needed")
    if (columns := len(names)) > MOST_COLUMNS:
        raise InputError(f"{thing}: it has {columns:,} columns, at most {MOST_COLUMNS:,} are read; leave some out")
    for i, name in enumerate(names, start=1):
        if not name.strip():
            raise InputError(f"{thing}: column {i} has no name; name it, or leave it out (a saved row index?)")
    if pair := twins(names):
        one, name = pair
        if one == name:
            raise InputError(f"{thing}: two columns are named {name!r}; rename or drop one{_first_line(name)}")
        raise InputError(
            f"{thing}: columns {one!r} and {name!r} differ only in capitals or in how a character is written, which an "
            "engine may take for one name; rename or drop one"
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
    array = _categories(series, name=name) if isinstance(series.dtype, pd.CategoricalDtype) else _cells(series)
    chunked = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
    check_type(chunked.type, name=name)
    return chunked


def _cells(series: pd.Series) -> pa.Array | pa.ChunkedArray:
    if series.dtype == object:
        return arrow_text.object_texts(series.array)
    try:
        return pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # a type that Arrow has no name for
        return arrow_text.object_texts(series.astype(object).array)


def _categories(series: pd.Series, *, name: str) -> pa.Array:
    """Codes into the categories, each of them written alone."""
    listed = _arrow(pd.Series(series.cat.categories), name=name).combine_chunks()
    listed = listed.chunk(0) if isinstance(listed, pa.ChunkedArray) else listed
    codes = series.cat.codes.to_numpy()
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=codes < 0), listed)


def _comparable(text: str) -> str:
    """The text by which fingerprints compare cells: numbers by value, dates and truth values by their usual form."""
    if text.isdecimal() and text.isascii() and text[0] != "0":
        return text
    plain = canonical(text)
    if plain.lower() in ("true", "false"):
        return plain.lower()
    if TIME.fullmatch(plain):
        day, rest = plain[:10], plain[11:].rstrip("0").rstrip(".") if "." in plain else plain[11:]
        return day if rest in ("00:00", "00:00:00") else f"{day}T{rest}"
    if plain[:1] not in "+-.0123456789" or "_" in plain:
        return plain
    try:
        return str(int(plain)) if plain.lstrip("+-").isdigit() else canonical(repr(float(plain)))
    except ValueError:
        return plain


def _mixed(words: np.ndarray) -> np.ndarray:
    """The splitmix64 finaliser: each output bit depends on all input bits."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
