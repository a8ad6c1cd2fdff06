"""How the texts of a table seem to be written, guessed for a draft: marks in numbers, order of dates, missing codes.

Everything works on the distinct texts of a column. What is found is said in a line each and waits for a person; where
two readings fit, the line says so and names the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.schema.cells import seconds
from synth.schema.dialect import MARKS, Dates, Dialect, Numbers, dates, numbers
from synth.schema.table import NUMERIC, Column, canonical
from synth.sources.formats.arrow_text import is_text
from synth.sources.formats.cell_formats import UNREADABLE, iso, pointed
from synth.sources.formats.text_table import Table

FITTING_SHARE = 0.95  # of the rows with a value fit a form, or it is none
WORDS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "-", "--", ".")
NINES = (999, 9999, 99999, -999, -9999)
PLAIN_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
CODE = r"^[A-Za-z][0-9]+([.,][0-9]+)?$"  # V45 among 250.83: a list of codes, in which numbers are names too
FEW_CODES = 2
DATED = r"^[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{2,4}(?: |$)"
DAYS = (
    *("dd.mm.yyyy", "dd/mm/yyyy", "mm/dd/yyyy", "dd-mm-yyyy", "mm-dd-yyyy", "yyyy/mm/dd", "yyyy.mm.dd", "dd.mm.yy"),
    *("dd/mm/yy", "mm/dd/yy"),
)
CLOCKS = ("", " HH:MM", " HH:MM:SS", " hh:MM AM", " hh:MM:SS AM")
GROUPED = [
    Numbers(".", ","),
    Numbers(",", "."),
    Numbers(",", "'"),
    Numbers(".", "'"),
    *(Numbers(point, space) for point in ",." for space in (" ", "\u00a0", "\u202f")),
]


@dataclass(frozen=True, kw_only=True)
class DistinctTexts:
    """Distinct trimmed texts of a column that may hold a value, and the rows of each."""

    values: pa.Array
    counts: np.ndarray

    def share(self, fits: pa.Array | np.ndarray) -> float:
        """Rows whose text fits."""
        rows = self.counts.sum()
        return float(self.counts[np.asarray(fits)].sum() / rows) if rows else 0.0


@dataclass(frozen=True, kw_only=True)
class Sniffed:
    """``table`` as a run would read it, ``formats`` and ``missing`` codes by column, and a line on each finding."""

    table: Table
    dialect: Dialect | None
    formats: Mapping[str, str]
    missing: Mapping[str, list[str]]
    lines: list[str] = field(default_factory=list)
    spelt: frozenset[str] = frozenset()  # columns whose texts were turned

    def column(self, name: str, column: Column) -> Column:
        """The drafted column with its format, where it is of a kind that has one."""
        form = self.formats.get(name)
        if form is None or column.type not in (("datetime",) if "y" in form else NUMERIC):
            return column
        minutes = column.resolution == "second" and "MM" in form and "SS" not in form
        return column.model_copy(update={"format": form, **({"resolution": "minute"} if minutes else {})})


def sniffed(
    table: Table, *, named: Mapping[str, str], missing: Sequence[str] = (), stated: Mapping[str, str] | None = None
) -> Sniffed:
    """What the texts of a table show. ``named``: kinds that a person gave; ``stated``: formats, by column."""
    stated = stated or {}
    codes = {n: _words(table, n, missing) for n in table.names if named.get(n) != "identifier"}
    open_ = {n for n in codes if named.get(n) not in ("categorical", "ordinal") and is_text(table.kind(n))}
    seen = {n: _seen(table, n, [*missing, *codes[n]]) for n in sorted(open_, key=table.names.index)}
    days, lines = _dates(seen, stated)
    marks = {n: f for n, s in seen.items() if n not in {*days, *stated} and (f := _numbers(s)) is not None}
    dialect = table.dialect
    if dialect is not None and not {"decimal", "thousands"} & dialect.model_fields_set:  # of several marks the plainest
        best = _best(marks, comma=dialect.delimiter == ",")
        dialect = dialect.model_copy(update={"decimal": best.decimal, "thousands": best.thousands})
    plain = Numbers(dialect.decimal, dialect.thousands) if dialect else Numbers()
    chosen = {n: _chosen(n, forms, plain, marks, lines, delimited=dialect is not None) for n, forms in marks.items()}
    chosen |= {n: numbers(stated[n]) for n in stated if n not in days}
    forms: dict[str, Numbers | Dates] = {**{n: dates(f) for n, f in days.items()}, **chosen}
    formats = {**days, **{n: f.example for n, f in chosen.items() if f != plain}}
    columns = {n: _turned(table, n, forms.get(n), [*missing, *codes.get(n, ())], lines) for n in table.names}
    read = Table(columns, num_rows=table.num_rows)
    for name in codes:
        codes[name] = [*codes[name], *_nines(read, name, [*missing, *codes[name]], named.get(name))]
        if codes[name]:
            far = " (far from all other values)" if canonical(codes[name][-1]).lstrip("-").isdigit() else ""
            lines.append(f"{name}: {', '.join(codes[name])} taken as missing{far}")
    lines += [f"{n}: numbers written as {f}" for n, f in formats.items() if n not in days]
    turned = frozenset(n for n, f in forms.items() if isinstance(f, Dates) or f != Numbers())
    return Sniffed(table=read, dialect=dialect, formats=formats, missing=codes, lines=lines, spelt=turned)


def _words(table: Table, name: str, missing: Sequence[str]) -> list[str]:
    """Words for nothing; of text columns only where two other values stand beside, and "-" not beside "+"."""
    if not is_text(table.kind(name)):
        return []
    values = {v.strip() for v in table.column(name).values.tolist()} - {""} - {m.strip() for m in missing}
    words = [w for w in WORDS if w in values and not (w.startswith("-") and "+" in values)]
    return words if len(values - set(words)) >= 2 else []


def _seen(table: Table, name: str, codes: Collection[str]) -> DistinctTexts:
    text = table.column(name)
    plain = pc.utf8_trim_whitespace(pa.array(text.values, pa.string()))
    counts = np.bincount(text.codes, minlength=len(plain))
    gone = pc.is_in(plain, value_set=pa.array([*{c.strip() for c in codes}, ""], pa.string()))
    says = pc.invert(pc.or_(gone, pc.match_substring(plain, UNREADABLE)))
    return DistinctTexts(values=plain.filter(says), counts=counts[np.asarray(says)])


def _dates(seen: Mapping[str, DistinctTexts], stated: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The format of each column of dates; of two that fit, that of the other columns, else the day first."""
    fitting = {n: forms for n, s in seen.items() if n not in stated and (forms := _date_forms(s))}
    votes = {f for forms in fitting.values() if len(forms) == 1 for f in forms}
    chosen, lines = {n: f for n, f in stated.items() if "y" in f}, []
    for name, forms in fitting.items():
        kin = [f for f in forms if any(f[:3] == v[:3] for v in votes)]
        chosen[name] = (kin or forms)[0]
        other = [f for f in forms if f != chosen[name]]
        ask = (
            f"; {other[0]} fits every date too: which is right? state it with `formats={name}={other[0]}`"
            if other
            else ""
        )
        why = " as in other columns" if other and kin else ""
        lines.append(f"{name}: dates read as {chosen[name]}{why}{ask}")
        if "yyyy" not in chosen[name]:
            lines[-1] += "; years 00 to 49 are taken to be after 2000"
    return chosen, lines


def _date_forms(seen: DistinctTexts) -> list[str]:
    if len(seen.values) == 0 or seen.share(pc.match_substring_regex(seen.values, DATED)) < FITTING_SHARE:
        return []
    fitting = (
        [d + clock for d in DAYS if seen.share(~np.isnan(seconds(iso(seen.values, dates(d + clock))))) >= FITTING_SHARE]
        for clock in CLOCKS
    )
    return next((forms for forms in fitting if forms), [])  # by the first clock that fits: it may be absent


def _numbers(seen: DistinctTexts) -> list[Numbers] | None:
    """The marks that fit a column in which some number has marks; None for any other."""
    if len(seen.values) == 0:
        return None
    marked = pc.match_substring_regex(seen.values, r"^[+-]?[0-9]*[.,' \x{a0}\x{202f}][0-9]")
    if not pc.any(marked).as_py():
        return None
    if len(set(seen.values.filter(pc.match_substring_regex(seen.values, CODE)).to_pylist())) > FEW_CODES:
        return None
    fits = []
    for form in [Numbers(), Numbers(",", None), *GROUPED]:
        led = pc.match_substring_regex(seen.values, rf"^[+-]?0[{form.thousands}]") if form.thousands else None
        zero = led is not None and bool(pc.any(led).as_py())
        if not zero and seen.share(pc.is_valid(pointed(seen.values, form))) >= FITTING_SHARE:
            fits.append(form)
    return fits or None


def _best(marks: Mapping[str, list[Numbers]], *, comma: bool) -> Numbers:
    order = [Numbers(), *([Numbers(".", ","), Numbers(",")] if comma else [Numbers(","), Numbers(".", ",")]), *GROUPED]
    return max(order, key=lambda f: (sum(f in forms for forms in marks.values()), -order.index(f)))


def _chosen(
    name: str,
    forms: list[Numbers],
    plain: Numbers,
    marks: Mapping[str, list[Numbers]],
    lines: list[str],
    *,
    delimited: bool,
) -> Numbers:
    """The column's own marks, the table's where they fit; says so where another reading fits as well."""
    best = (
        plain if plain in forms and delimited else forms[0] if Numbers() in forms else _best({name: forms}, comma=False)
    )
    rivals = [f for f in forms if f.decimal != best.decimal]
    sure = any(
        n != name and best in other and not any(f.decimal != best.decimal for f in other) for n, other in marks.items()
    )
    if rivals and not sure:
        other = rivals[0]
        mark = MARKS[other.decimal if best.thousands else best.decimal]
        lines.append(
            f"{name}: decimal {MARKS[best.decimal]}, but every {mark} may stand between thousands: which is right? "
            f"state it with `formats={name}={other.example}`"
        )
    return best


def _turned(
    table: Table, name: str, form: Numbers | Dates | None, codes: Collection[str], lines: list[str]
) -> pa.ChunkedArray:
    """The column as a run reads it; what does not fit is shown to the draft as an empty cell."""
    if not is_text(table.kind(name)):
        return table.cells(name)
    text = table.column(name)
    values = pa.array(text.values, pa.string())
    plain = pc.utf8_trim_whitespace(values)
    missing = pc.is_in(plain, value_set=pa.array([*{c.strip() for c in codes}, ""], pa.string()))
    if form is not None:
        turned = iso(plain, form) if isinstance(form, Dates) else pointed(plain, form)
        values = pc.if_else(missing, values, turned)
    values = pc.if_else(pc.match_substring(values, UNREADABLE), None, values)
    lost = int(np.bincount(text.codes, minlength=len(values))[np.asarray(pc.is_null(values))].sum())
    if lost:
        lines.append(f"{name}: {lost} cells do not fit and will count as unreadable")
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(text.codes), pc.fill_null(values, ""))])


def _nines(table: Table, name: str, codes: Collection[str], kind: str | None) -> list[str]:
    """999 and its like where it stands far from all other numbers of a column, in three rows or more."""
    if kind is not None:
        return []
    seen = _seen(table, name, codes)
    if seen.share(pc.match_substring_regex(seen.values, PLAIN_NUMBER)) < 1 or len(seen.values) < 6:
        return []
    figures = np.array(seen.values.to_pylist(), dtype=np.float64)
    for code in NINES:
        at, others = figures == code, figures[figures != code]
        low, high = others.min(), others.max()
        gap = code - high if code > 0 else low - code
        if seen.counts[at].sum() >= 3 and gap > max(high - low, abs(code) / 2):
            return [str(code)]
    return []
