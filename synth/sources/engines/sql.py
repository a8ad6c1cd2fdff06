"""A column's position as an SQL expression, equal to the codec's for every cell (tests/laws/test_counts_engines.py).

Only types whose text the codec reads back unchanged are compiled: whole numbers, double precision, dates and times.
The expression never fails, whatever a cell holds: no sum, quotient or cast in it can overflow, and none underflows.
Its value is the position, or a mark below zero (sql_branches.py).
"""

from collections.abc import Mapping
from typing import Literal

from synth.schema import csv_injection
from synth.schema.cells import LONGEST
from synth.schema.codec import is_exact
from synth.schema.names import UNSEEN
from synth.schema.table import CATEGORICAL, Column, canonical
from synth.sources.engines.sql_branches import ABOVE, BELOW, LOST, piecewise
from synth.sources.engines.sql_dialects import SqlDialect

FIRST_SECOND, LAST_SECOND = -62167219200, 253402300799  # of the years 0 and 9999, which four digits can write
MOST_TEXTS = 2_000  # categories that a query lists; of more, rows are fetched
BLANK = "".join(
    map(
        chr,
        (
            *range(9, 14),
            *range(28, 33),
            0x85,
            0xA0,
            0x1680,
            *range(0x2000, 0x200B),
            0x2028,
            0x2029,
            0x202F,
            0x205F,
            0x3000,
        ),
    )
)  # white space, as str.strip() has it

Kind = Literal["integer", "double", "date", "time"]


def position(column: Column, name: str, kind: Kind, dialect: SqlDialect) -> str | None:
    """The position of the cell ``name`` of an engine's type ``kind``, or None where only the codec reads such cells."""
    cell = dialect.identifier(name)
    codes = _missing(column)
    absent = codes.get("", LOST)
    result = _typed_codes(codes, kind)
    if result is None:
        return None
    branches = [f"WHEN {cell} IS NULL THEN {absent}"]
    if column.type in CATEGORICAL:
        if kind != "integer" or column.grouping is not None:
            return None
        listed = {**_whole(_categories(column)), **result}
        inside = piecewise(cell, listed)
        return None if inside is None else f"CASE {branches[0]} ELSE {inside} END"
    if (column.type == "datetime") != (kind in ("date", "time")):
        return None
    if kind == "double":
        branches.append(f"WHEN {dialect.nan.format(cell)} THEN {absent}")
    branches += [f"WHEN {cell} = {_literal(value, kind, dialect)} THEN {at}" for value, at in result.items()]
    if column.type == "datetime":
        steps = _dated(column, cell, kind, dialect)
    else:
        exact = kind == "integer" and is_exact(column)
        steps = _exact(column, cell, dialect) if exact else _numbered(column, cell, dialect)
    return " ".join(["CASE", *branches, steps, "END"])


def _exact(column: Column, cell: str, dialect: SqlDialect) -> str:
    """The last branches of a whole number under bounds that are whole numbers: nothing is rounded but the quotient."""
    low, step = int(column.bounds[0]), int(column.step)
    above = f"(CAST({cell} AS BIGINT) - ({low}))"
    quotient = dialect.rint.format(f"(CAST({above} AS {dialect.double}) / {dialect.number(step)})")
    return (
        f"WHEN {cell} < ({low - 2 * step}) THEN {BELOW} WHEN {cell} > ({low + (column.size + 2) * step}) THEN {ABOVE} "
        f"{_clamped(above if step == 1 else quotient, column.size)}"
    )


def _numbered(column: Column, cell: str, dialect: SqlDialect) -> str:
    """The last branches of a number: those far outside first, so that the arithmetic of the rest is safe."""
    low, step = float(column.bounds[0]), float(column.step)
    x, least, width = f"CAST({cell} AS {dialect.double})", dialect.number(low), dialect.number(step)
    under, over = dialect.number(low - 2 * step), dialect.number(low + (column.size + 2) * step)
    steps = dialect.rint.format(f"(({x} - {least}) / {width})")
    return (
        f"WHEN {x} < {under} THEN {BELOW} WHEN {x} > {over} THEN {ABOVE} "
        f"WHEN abs({x} - {least}) < {dialect.number(step / 4)} THEN 0 {_clamped(steps, column.size)}"
    )


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
    result = {}
    for text, at in texts.items():
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdecimal() and len(digits) < 19 and str(int(text)) == text:
            result[int(text)] = at
    return result


def _literal(value: int, kind: Kind, dialect: SqlDialect) -> str:
    return dialect.number(value) if kind == "double" else str(value)


def worded(column: Column, name: str, dialect: SqlDialect) -> str | None:
    """The position of a cell of text in a column of categories; None where only the codec reads such cells.

    A text is looked up as it stands, then as the codec does: trimmed, without a zero fraction, without formula marks.
    """
    known = {**_categories(column), **_missing(column)}
    if (
        column.type not in CATEGORICAL
        or column.grouping is not None
        or len(known) > MOST_TEXTS
        or not all(map(_writable, known))
    ):
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
    cell = dialect.identifier(name)
    if kind == "integer":
        return dialect.order.format(f"COALESCE(CAST({cell} AS {dialect.words}), '')")
    if kind != "text":
        return None
    held = dialect.order.format(f"COALESCE(CAST({cell} AS {dialect.words}), '')")
    spelled = dialect.one_spelling.format(held, dialect.text(UNSEEN))
    plain = f"CASE WHEN {dialect.bytes.format(held)} = length({held}) THEN {held} ELSE {spelled} END"  # ASCII as it is
    return dialect.order.format(_canonical(plain, dialect))


def _canonical(text: str, dialect: SqlDialect) -> str:
    """``schema.canonical`` of a text."""
    trimmed = dialect.trim.format(text, dialect.text(BLANK))
    pattern = dialect.text(r"^(-?[0-9]+)\.0+" + dialect.end)
    return f"regexp_replace({trimmed}, {pattern}, {dialect.text(dialect.group)})"


def _writable(text: str) -> bool:
    """Whether a query may hold the text: no NUL, no half characters."""
    return "\0" not in text and text.encode("utf-8", "ignore").decode() == text


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
