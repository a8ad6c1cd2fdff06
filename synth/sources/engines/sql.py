"""A column's position as an SQL expression, equal to the codec's for every cell (tests/laws/test_counts_engines.py).

Only types whose text the codec reads back unchanged are compiled: whole numbers, double precision, dates and times. The
expression never fails, whatever a cell holds: no sum, quotient or cast in it can overflow, and none underflows. Its
value is the position, or one of three marks below zero that ``codec`` gives a position afterwards. Decisions on whole
numbers are few branches one after the other, more nested in halves.

At most so many rows of each person are kept, chosen by the engine that holds them (``Bound``): the rows of a person are
numbered by what they are, and a row's key is a hash of a secret number, the person and that number; those with the
least keys stay. Rows that are alike are interchangeable, so what stays of a person follows from the secret number and
that person's rows: it is the same for every question, whoever computes it, and however often.

**Guarantee**: whatever the secret number, the rows kept of one person depend on that person's rows alone, and are at
most ``most``: one person more or less moves at most ``most`` kept rows. The hash decides which rows, not how many.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from synth.schema import csv_injection
from synth.schema.cells import LONGEST
from synth.schema.codec import is_exact
from synth.schema.names import UNSEEN
from synth.schema.table import CATEGORICAL, Column, canonical


@dataclass(frozen=True, kw_only=True)
class SqlDialect:
    """How an engine writes what the standard leaves open. ``{0}`` stands for the operand.

    ``quote``: around names. ``double``, ``words``: types. ``rint``: to the nearest whole number, halves to the even
    one. ``days``, ``seconds``: whole ones since 1970 of a date and of a time without a zone, rounded down. ``time``: a
    time in microseconds, NULL for one beyond them. ``finite``: whether a date is one. ``trim``, ``ltrim``: text without
    the characters ``{1}`` around or before it. ``bytes``: of a text. ``order``: compares texts byte by byte, whatever
    the column says. ``end``: the end of a text in a pattern; ``group``: what it caught. ``hash``: a whole number of a
    text, all its 64 bits used; it cannot fail. ``one_spelling``: ``cells.one_spelling``, ``{1}`` what is not seen.
    """

    name: str
    quote: str = '"'
    double: str = "DOUBLE"
    words: str
    rint: str
    nan: str = "isnan({0})"
    days: str = "CAST({0} - DATE '1970-01-01' AS BIGINT)"
    seconds: str
    time: str = "{0}"
    finite: str = "isfinite({0})"
    trim: str
    ltrim: str = "ltrim({0}, {1})"
    bytes: str = "octet_length({0})"
    order: str
    end: str = "$"
    group: str = "\\1"
    hash: str
    one_spelling: str

    def identifier(self, name: str) -> str:
        """The name, quoted."""
        return self.quote + name.replace(self.quote, self.quote * 2) + self.quote

    def whole(self, cells: int) -> str:
        """A type for positions among so many cells, and marks below zero: a narrow one, where there is one."""
        if self.name != "postgres" and cells < 1 << 15:
            return "TINYINT" if cells < 1 << 7 else "SMALLINT"
        return "INTEGER" if cells < 1 << 31 else "BIGINT"

    def number(self, value: float) -> str:
        """Exactly this float."""
        return f"CAST('{float(value)!r}' AS {self.double})"

    def text(self, value: str) -> str:
        """A text literal."""
        plain = value.replace("\\", "\\\\") if self.name == "spark" else value
        return "'" + plain.replace("'", "\\'" if self.name == "spark" else "''") + "'"


DUCKDB = SqlDialect(
    name="duckdb",
    words="VARCHAR",
    rint="round_even({0}, 0)",
    seconds="(epoch_us({0}) // 1000000 - CASE WHEN epoch_us({0}) % 1000000 < 0 THEN 1 ELSE 0 END)",
    time="TRY_CAST({0} AS TIMESTAMP)",
    trim="trim({0}, {1})",
    bytes="strlen({0})",
    order="({0} COLLATE C)",
    hash="hash({0})",
    one_spelling="one_spelling({0})",  # of Python: duckdb.py
)
POSTGRES = SqlDialect(
    name="postgres",
    double="DOUBLE PRECISION",
    words="TEXT",
    rint="round({0})",
    nan="({0} = CAST('NaN' AS DOUBLE PRECISION))",
    seconds="CAST(floor(extract(epoch FROM {0})) AS BIGINT)",
    trim="btrim({0}, {1})",
    order='({0} COLLATE "C")',
    hash="hashtextextended({0}, 0)",
    one_spelling="normalize(regexp_replace({0}, {1}, '', 'g'), NFKC)",
)
SPARK = SqlDialect(
    name="spark",
    quote="`",
    words="STRING",
    rint="rint({0})",
    days="CAST(datediff({0}, DATE '1970-01-01') AS BIGINT)",
    seconds="unix_seconds(CAST({0} AS TIMESTAMP))",
    finite="TRUE",
    trim="trim(BOTH {1} FROM {0})",
    ltrim="trim(LEADING {1} FROM {0})",
    order="({0} COLLATE UTF8_BINARY)",
    end="\\z",
    group="$1",
    hash="xxhash64({0})",
    one_spelling="reflect('com.ibm.icu.text.Normalizer', 'compose', regexp_replace({0}, {1}, ''), true)",
)
DIALECTS = {d.name: d for d in (DUCKDB, POSTGRES, SPARK)}


LOST, BELOW, ABOVE = -1, -2, -3  # not readable; clamped at the minimum, at the maximum
FEW = 8  # branches written one after the other
MOST_RUNS = 5_000


def piecewise(cell: str, places: Mapping[int, int]) -> str | None:
    """The place of a whole number, or ``LOST``: runs of neighbouring numbers with neighbouring places are one branch.

    >>> piecewise("x", {1: 0, 2: 1})
    'CASE WHEN x BETWEEN 1 AND 2 THEN CAST(x AS BIGINT) - 1 ELSE -1 END'
    """
    runs: list[tuple[int, int, int]] = []
    for value in sorted(places):
        shift = value - places[value]
        if runs and runs[-1][1] == value - 1 and runs[-1][2] == shift:
            runs[-1] = (runs[-1][0], value, shift)
        else:
            runs.append((value, value, shift))

    def listed(few: Sequence[tuple[int, int, int]]) -> str:  # widened first: a sum of narrow numbers could overflow
        wide = f"CAST({cell} AS BIGINT)"
        reported = [f"WHEN {cell} BETWEEN {a} AND {b} THEN {wide} {'-' if s >= 0 else '+'} {abs(s)}" for a, b, s in few]
        return f"CASE {' '.join(reported)} ELSE {LOST} END" if reported else str(LOST)

    return None if len(runs) > MOST_RUNS else _nested(cell, runs, listed, few=FEW)


def _nested(cell: str, pieces: Sequence[Any], leaf: Callable[[Sequence[Any]], str], *, few: int) -> str:
    """``leaf`` of the pieces where they are few, else of the half to which the cell belongs."""
    if len(pieces) <= few:
        return leaf(pieces)
    half = len(pieces) // 2
    low, high = (_nested(cell, part, leaf, few=few) for part in (pieces[:half], pieces[half:]))
    return f"CASE WHEN {cell} < {pieces[half][0]} THEN {low} ELSE {high} END"


def settled(cell: str, column: Column) -> str:
    """The position without marks; ``LOST`` stays where the column is never missing."""
    last, absent = column.size - 1, column.size if column.missing_codes else LOST
    return f"CASE {cell} WHEN {BELOW} THEN 0 WHEN {ABOVE} THEN {last} WHEN {LOST} THEN {absent} ELSE {cell} END"


def binned(cell: str, cells: int, starts: np.ndarray, groups: np.ndarray, *, lost: int) -> str:
    """The group of a position among ``cells``, ``lost`` below zero; neighbouring leaves of one group are one branch.

    >>> binned("p", 9, np.array([0, 5, 7]), np.array([0, 0, 1]), lost=9)
    'CASE WHEN p < 0 THEN 9 ELSE CASE WHEN p < 7 THEN 0 ELSE 1 END END'
    """
    if len(starts) == cells and np.array_equal(groups, starts):
        return f"CASE WHEN {cell} < 0 THEN {lost} ELSE {cell} END"
    first = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    pieces = list(zip(starts[first].tolist(), groups[first].tolist(), strict=True))
    inner = _nested(cell, pieces, lambda one: str(one[0][1]), few=1)
    return f"CASE WHEN {cell} < 0 THEN {lost} ELSE {inner} END"


FIRST_SECOND, LAST_SECOND = -62167219200, 253402300799  # of the years 0 and 9999, which four digits can write
MOST_TEXTS = 2_000  # categories that a query lists; of more, rows are fetched
BLANK = "".join(c for c in map(chr, range(0x3001)) if c.isspace())  # white space, as str.strip() has it

Kind = Literal["integer", "double", "date", "time"]


def position(column: Column, name: str, kind: Kind, dialect: SqlDialect) -> str | None:
    """The position of the cell ``name`` of an engine's type ``kind``, or None where only the codec reads such cells."""
    cell = dialect.identifier(name)
    codes = _missing(column)
    absent = codes.get("", LOST)
    typed = _typed_codes(codes, kind)
    if typed is None:
        return None
    branches = [f"WHEN {cell} IS NULL THEN {absent}"]
    if column.type in CATEGORICAL:
        if kind != "integer" or column.grouping is not None:
            return None
        listed = {**_whole(_categories(column)), **typed}
        inside = piecewise(cell, listed)
        return None if inside is None else f"CASE {branches[0]} ELSE {inside} END"
    if (column.type == "datetime") != (kind in ("date", "time")):
        return None
    if kind == "double":
        branches.append(f"WHEN {dialect.nan.format(cell)} THEN {absent}")
    for value, at in typed.items():
        branches.append(f"WHEN {cell} = {dialect.number(value) if kind == 'double' else value} THEN {at}")
    if column.type == "datetime":
        steps = _dated(column, cell, kind, dialect)
    else:
        steps = _numbered(column, cell, dialect, exact=kind == "integer" and is_exact(column))
    return " ".join(["CASE", *branches, steps, "END"])


def _numbered(column: Column, cell: str, dialect: SqlDialect, *, exact: bool) -> str:
    """The last branches of a number: those far outside first, so that the arithmetic of the rest is safe.

    ``exact``: a whole number under bounds that are whole numbers, of which nothing is rounded but the quotient.
    """
    low, step = ((int if exact else float)(x) for x in (column.bounds[0], column.step))
    if exact:
        x, near, under, over = cell, "", f"({low - 2 * step})", f"({low + (column.size + 2) * step})"
        above = f"(CAST({cell} AS BIGINT) - ({low}))"
        quotient = dialect.rint.format(f"(CAST({above} AS {dialect.double}) / {dialect.number(step)})")
        steps = above if step == 1 else quotient
    else:
        x, least, width = f"CAST({cell} AS {dialect.double})", dialect.number(low), dialect.number(step)
        under, over = dialect.number(low - 2 * step), dialect.number(low + (column.size + 2) * step)
        near = f"WHEN abs({x} - {least}) < {dialect.number(step / 4)} THEN 0 "
        steps = dialect.rint.format(f"(({x} - {least}) / {width})")
    return f"WHEN {x} < {under} THEN {BELOW} WHEN {x} > {over} THEN {ABOVE} {near}{_clamped(steps, column.size)}"


def _dated(column: Column, cell: str, kind: Kind, dialect: SqlDialect) -> str:
    """The last branches of a date or time; one that four digits of a year cannot write is no date."""
    low, step = int(column.bounds[0]), int(column.step)
    cell = cell if kind == "date" else dialect.time.format(cell)
    whole = f"{dialect.days.format(cell)} * 86400" if kind == "date" else dialect.seconds.format(cell)
    least, width = dialect.number(low), dialect.number(step)
    steps = f"floor((CAST({whole} AS {dialect.double}) - {least}) / {width})"
    return (
        f"WHEN NOT {dialect.finite.format(cell)} THEN {LOST} "
        f"WHEN {whole} NOT BETWEEN {FIRST_SECOND} AND {LAST_SECOND} THEN {LOST} {_clamped(steps, column.size)}"
    )


def _clamped(steps: str, size: int) -> str:
    return f"WHEN {steps} < 0 THEN {BELOW} WHEN {steps} >= {size} THEN {ABOVE} ELSE CAST({steps} AS BIGINT)"


def _typed_codes(codes: Mapping[str, int], kind: Kind) -> dict[int, int] | None:
    """Missing codes as whole numbers that a cell of this kind may equal; None where only texts would tell.

    A whole number is written without a fraction in every type; the zero of double precision has two signs.
    """
    texts = {c: at for c, at in codes.items() if c}
    whole = _whole(texts)
    if kind == "integer":
        return whole
    if kind == "double":
        safe = len(whole) == len(texts) and 0 not in whole and all(abs(v) < 10**15 for v in whole)
        return whole if safe else None
    return {} if not any(c[:1].isdigit() for c in texts) else None


def _whole(texts: Mapping[str, int]) -> dict[int, int]:
    """The texts that are how some 64-bit whole number is written, as numbers."""
    numbers = {}
    for text, at in texts.items():
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdecimal() and len(digits) < 19 and str(int(text)) == text:
            numbers[int(text)] = at
    return numbers


def worded(column: Column, name: str, dialect: SqlDialect) -> str | None:
    """The position of a cell of text in a column of categories; None where only the codec reads such cells.

    A text is looked up as it stands, then as the codec does: trimmed, without a zero fraction, without formula marks.
    """
    known = {**_categories(column), **_missing(column)}
    # a query may hold no NUL, and no half characters
    writable = all("\0" not in text and text.encode("utf-8", "ignore").decode() == text for text in known)
    if column.type not in CATEGORICAL or column.grouping is not None or len(known) > MOST_TEXTS or not writable:
        return None
    cell = dialect.order.format(f"CAST({dialect.identifier(name)} AS {dialect.words})")
    plain = _canonical(cell, dialect)
    risky = {text: at for text, at in known.items() if csv_injection.risky(text)}
    bare = _canonical(dialect.ltrim.format(plain, dialect.text(csv_injection.MARK)), dialect)
    marked = f"CASE {bare} {_cases(risky, dialect)} ELSE {LOST} END" if risky else str(LOST)
    first = f"substr({plain}, 1, 1) = {dialect.text(csv_injection.MARK)}"
    return (
        f"CASE WHEN {cell} IS NULL THEN {known.get('', LOST)} {_listed(cell, known, dialect)} "
        f"WHEN {dialect.bytes.format(cell)} > {LONGEST} THEN {LOST} "
        f"ELSE COALESCE(CASE {plain} {_cases(known, dialect)} END, CASE WHEN {first} THEN {marked} ELSE {LOST} END) END"
    )


def named(name: str, kind: Kind | Literal["text"], dialect: SqlDialect) -> str | None:
    """``cells.key`` of a cell that names a person, empty where it names none; None where only the codec tells."""
    spelt = dialect.order.format(f"COALESCE(CAST({dialect.identifier(name)} AS {dialect.words}), '')")
    if kind != "text":
        return spelt if kind == "integer" else None
    spelled = dialect.one_spelling.format(spelt, dialect.text(UNSEEN))
    plain = (
        f"CASE WHEN {dialect.bytes.format(spelt)} = length({spelt}) THEN {spelt} ELSE {spelled} END"  # ASCII as it is
    )
    return dialect.order.format(_canonical(plain, dialect))


def _canonical(text: str, dialect: SqlDialect) -> str:
    """``schema.canonical`` of a text."""
    trimmed = dialect.trim.format(text, dialect.text(BLANK))
    pattern = dialect.text(r"^(-?[0-9]+)\.0+" + dialect.end)
    return f"regexp_replace({trimmed}, {pattern}, {dialect.text(dialect.group)})"


def _listed(cell: str, places: Mapping[str, int], dialect: SqlDialect) -> str:
    """Branches for texts as they stand, those of one place together."""
    by_place: dict[int, list[str]] = {}
    for text, at in places.items():
        by_place.setdefault(at, []).append(dialect.text(text))
    return " ".join(f"WHEN {cell} IN ({', '.join(texts)}) THEN {at}" for at, texts in by_place.items())


def _cases(places: Mapping[str, int], dialect: SqlDialect) -> str:
    return " ".join(f"WHEN {dialect.text(text)} THEN {at}" for text, at in places.items())


def _missing(column: Column) -> dict[str, int]:
    """The position of each missing code; of two spellings of one the first counts."""
    return {canonical(c): column.size + i for i, c in reversed(list(enumerate(column.missing_codes)))}


def _categories(column: Column) -> dict[str, int]:
    return {canonical(c): i for i, c in enumerate(column.categories or ())}


@dataclass(frozen=True, kw_only=True)
class Bound:
    """``person``: the canonical text of who a row is about, in SQL, empty for a row that is a unit of its own.

    ``most``: rows kept of each. ``secret``: from the secret generator, as fresh as the run.
    """

    person: str
    most: int
    secret: int

    def __post_init__(self) -> None:
        """Errors: ValueError for a bound that is none."""
        if self.most < 1:
            raise ValueError("at least one row of each person is kept")

    def retained(self, positions: Sequence[str], relation: str, dialect: SqlDialect) -> str:
        """A relation of the kept rows: their positions as p0, p1, ..., all of which the numbers go by."""
        names = [f"p{i}" for i in range(len(positions))]
        marked = ", ".join(f"{sql} AS {n}" for sql, n in zip(positions, names, strict=True))
        listed = ", ".join(names)
        within = "PARTITION BY who ORDER BY"
        words = dialect.words
        key = dialect.hash.format(f"'{self.secret}/' || CAST(place AS {words}) || '/' || who")
        return (
            f"(SELECT {listed} FROM ("
            f"SELECT {listed}, who, ROW_NUMBER() OVER ({within} {key}) AS turn FROM ("
            f"SELECT {listed}, who, ROW_NUMBER() OVER ({within} {listed}) AS place FROM ("
            f"SELECT {self.person} AS who, {marked} FROM {relation}) AS marked_rows) AS numbered_rows) AS ranked_rows "
            f"WHERE turn <= {self.most} OR who = '') AS kept_rows"
        )
