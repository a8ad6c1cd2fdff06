"""Cells of text turned into the one spelling that the codec reads, decimal points and ISO dates, and back again.

**Guarantee**: what becomes of a cell follows from that cell and the schema alone. A text that does not fit its column's
format becomes ``UNREADABLE``, which no column knows; missing codes and empty cells stay as they are. ``Writing`` is the
inverse, except that no marks stand between thousands. What is written reads back, by the same schema, as the positions
of the plain text; ``problem`` finds beforehand what could not."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from synth.schema import codec, csv_injection
from synth.schema.dialect import CENTURY, ENCODINGS, Dates, Dialect, Numbers, dates, numbers
from synth.schema.table import NUMERIC, UNREAD, Column, Schema, canonical
from synth.sources.formats.arrow_text import is_text

UNREADABLE = "\ufffd"
INFINITE = r"^[+-]?[iI]nf(inity)?$"
EXPONENT = "(?:[eE][+-]?[0-9]{1,3})?"
Form = Numbers | Dates


@dataclass(frozen=True)
class Reading:
    """By column the form that its texts have, where it is not the plain one, and the codes that stay as they are."""

    forms: Mapping[str, Form] = field(default_factory=dict)
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dialect: Dialect | None = None  # of a CSV file

    @staticmethod
    def of(schema: Schema, *, delimited: bool) -> "Reading":
        """What the schema says. ``delimited``: of a CSV file, whose dialect gives the numbers of all columns."""
        dialect = schema.dialect if delimited else None
        forms = {n: f for n, c in schema.columns.items() if (f := form_of(c, dialect)) is not None}
        return Reading(forms, {n: schema.columns[n].missing_codes for n in forms}, dialect)

    def cells(self, name: str, array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
        """The column's cells; only those that are texts change."""
        form = self.forms.get(name)
        if form is None or not is_text(array.type):
            return array
        chunks = []
        for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:  # by its distinct texts
            coded = chunk if pt.is_dictionary(chunk.type) else chunk.dictionary_encode()
            values = spelt(coded.dictionary.cast(pa.string()), form, self.codes.get(name, ()))
            chunks.append(pa.DictionaryArray.from_arrays(coded.indices.cast(pa.int32()), values))
        return pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), pa.string()))

    def texts(self, name: str, values: np.ndarray) -> np.ndarray:
        """The same for texts of a column, (n,) object."""
        form = self.forms.get(name)
        if form is None:
            return values
        return spelt(pa.array(values, pa.string()), form, self.codes.get(name, ())).to_numpy(zero_copy_only=False)


PLAIN = Reading()


def form_of(column: Column, dialect: Dialect | None) -> Form | None:
    """The form of a column's texts, None for the plain one."""
    if column.type == "datetime":
        return dates(column.format) if column.format else None
    if column.type not in NUMERIC:
        return None
    stated = Numbers(dialect.decimal, dialect.thousands) if dialect else Numbers()
    form = numbers(column.format) if column.format else stated
    return None if form == Numbers() else form


def spelt(texts: pa.Array, form: Form, codes: tuple[str, ...] = ()) -> pa.Array:
    """Each text as the codec reads it, null where it is null; ``UNREADABLE`` where it does not fit."""
    plain = pc.utf8_trim_whitespace(texts)
    plainly = iso(plain, form) if isinstance(form, Dates) else pointed(plain, form)
    return pc.if_else(stays(plain, form, codes), texts, pc.fill_null(plainly, UNREADABLE))


def stays(plain: pa.Array, form: Form, codes: tuple[str, ...]) -> pa.Array:
    """Empty cells, missing codes, texts behind an apostrophe (csv_injection.py), and infinite numbers."""
    known = pa.array(sorted({canonical(c) for c in codes} | {c.strip() for c in codes} | {""}), pa.string())
    as_it_is = pc.or_(pc.is_in(plain, value_set=known), pc.starts_with(plain, csv_injection.MARK))
    return pc.or_(as_it_is, pc.match_substring_regex(plain, INFINITE)) if isinstance(form, Numbers) else as_it_is


def pointed(plain: pa.Array, form: Numbers) -> pa.Array:
    """Numbers with a decimal point and no mark between thousands; null for what does not fit.

    >>> pointed(pa.array(["1.234,5", "-12", "1.5", "12.34"]), Numbers(",", ".")).to_pylist()
    ['1234.5', '-12', None, None]
    """
    mark, point = _literal(form.thousands or ""), _literal(form.decimal)
    grouped = f"[0-9]{{1,3}}(?:{mark}[0-9]{{3}})+|" if mark else ""
    pattern = f"^[+-]?(?:(?:{grouped}[0-9]+)(?:{point}[0-9]*)?|{point}[0-9]+){EXPONENT}$"
    fits = pc.match_substring_regex(plain, pattern)
    bare = pc.replace_substring(plain, form.thousands, "") if form.thousands else plain
    return pc.if_else(fits, pc.replace_substring(bare, form.decimal, "."), None)


def iso(plain: pa.Array, form: Dates) -> pa.Array:
    """Dates as YYYY-MM-DD, with the clock where there is one; null for what does not fit. The codec looks whether such
    a day exists.

    >>> iso(pa.array(["31.1.2020", "2020-01-31"]), Dates(("dd", ".", "mm", ".", "yyyy"))).to_pylist()
    ['2020-01-31', None]
    """
    found = pc.extract_regex(plain, form.pattern)
    names = [p for p in form.parts if p.isalpha() and len(p) > 1]
    part = {n: pc.struct_field(found, n) for n in names}
    year = part.get("yyyy")
    if year is None:
        late = pc.greater_equal(part["yy"].cast(pa.int32()), CENTURY)
        year = pc.binary_join_element_wise(pc.if_else(late, "19", "20"), part["yy"], "")
    day = pc.binary_join_element_wise(year, _two(part["mm"]), _two(part["dd"]), "-")
    hour = part.get("HH", part.get("hh"))
    if hour is None:
        return day
    clock = pc.binary_join_element_wise(
        _hour(hour, part.get("AM")), part["MM"], *([part["SS"]] if "SS" in part else []), ":"
    )
    return pc.if_else(pc.equal(hour, ""), day, pc.binary_join_element_wise(day, clock, "T"))


def _two(digits: pa.Array) -> pa.Array:
    return pc.utf8_lpad(digits, 2, "0")


def _hour(hour: pa.Array, half: pa.Array | None) -> pa.Array:
    """The hour of a day of 24; one that no clock of 12 has becomes 99, which no day has."""
    if half is None:
        return _two(hour)
    number = pc.if_else(pc.equal(hour, ""), "1", hour).cast(pa.int32())
    later = pc.add(
        pc.if_else(pc.equal(number, 12), 0, number), pc.if_else(pc.starts_with(half, "p", ignore_case=True), 12, 0)
    )
    on_clock = pc.and_(pc.greater_equal(number, 1), pc.less_equal(number, 12))
    return _two(pc.if_else(on_clock, later, 99).cast(pa.string()))


def _literal(mark: str) -> str:
    return rf"\{mark}" if mark == "." else mark


ISO = (
    "^(?P<yyyy>[0-9]{4})-(?P<mm>[0-9]{2})-(?P<dd>[0-9]{2})"
    "(?:[ T](?P<HH>[0-9]{2}):(?P<MM>[0-9]{2})(?::(?P<SS>[0-9]{2}))?)?$"
)
REMEDY = "change the schema, or choose `dialect=plain`"


@dataclass(frozen=True)
class Writing:
    """By column the form and the codes that stay as they are; and the dialect of the file."""

    forms: Mapping[str, Form]
    codes: Mapping[str, tuple[str, ...]]
    dialect: Dialect

    @staticmethod
    def of(schema: Schema) -> "Writing | None":
        """What the schema says; None where a plain file says the same."""
        every = {n: form_of(c, schema.dialect) for n, c in schema.retained().columns.items()}
        forms = {n: f for n, f in every.items() if isinstance(f, Dates) or (f is not None and f.decimal != ".")}
        dialect = schema.dialect or Dialect()
        if not forms and dialect.model_copy(update={"source": "declared", "thousands": None}) == Dialect():
            return None
        return Writing(forms, {n: schema.columns[n].missing_codes for n in forms}, dialect)

    def columns(self, texts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
        """Columns of plain text, by their names in the schema, in this spelling."""
        return {n: self.cells(n, a) if n in self.forms else a for n, a in texts.items()}

    def cells(self, name: str, texts: pa.Array | pa.ChunkedArray) -> pa.Array:
        """A column's plain texts in this spelling; distinct ones are looked at once."""
        whole = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        coded = whole.dictionary_encode()
        words = respelt(coded.dictionary.cast(pa.string()), self.forms[name], self.codes[name])
        return pa.DictionaryArray.from_arrays(coded.indices, words).cast(pa.string())


def respelt(plain: pa.Array, form: Form, codes: tuple[str, ...] = ()) -> pa.Array:
    """Plain texts as the form writes them; what reading leaves as it is stays so.

    >>> respelt(pa.array(["1234.5", "NA"]), Numbers(","), ("NA",)).to_pylist()
    ['1234,5', 'NA']
    """
    if isinstance(form, Numbers):
        spelt = pc.replace_substring(plain, ".", form.decimal)
    else:
        spelt = pc.fill_null(_dated(plain, form), plain)
    return pc.if_else(stays(plain, form, codes), plain, spelt)


def _dated(plain: pa.Array, form: Dates) -> pa.Array:
    """Dates as the form writes them, with the clock where it has one; null for what is no date."""
    found = pc.extract_regex(plain, ISO)
    part = {n: pc.struct_field(found, n) for n in ("yyyy", "mm", "dd", "HH", "MM", "SS")}
    part |= {n: pc.if_else(pc.equal(part[n], ""), "00", part[n]) for n in ("HH", "MM", "SS")}
    part["yy"] = pc.utf8_slice_codeunits(part["yyyy"], 2, 4)
    hour = part["HH"].cast(pa.int32())
    late = pc.greater_equal(hour, 12)
    of_twelve = pc.subtract(hour, pc.if_else(late, 12, 0))
    part["hh"] = pc.utf8_lpad(pc.if_else(pc.equal(of_twelve, 0), 12, of_twelve).cast(pa.string()), 2, "0")
    part["AM"] = pc.if_else(late, "PM", "AM")
    return pc.binary_join_element_wise(*(part.get(p, p) for p in form.parts), "")


def problem(schema: Schema) -> str | None:
    """Why the schema's table cannot be written as the schema says; None where it can. No value is repeated.

    Facts that are absent (to be learnt) are passed over: ask again when they are there.
    """
    writing = Writing.of(schema)
    return None if writing is None else next(_problems(schema.retained(), writing), None)


def _problems(schema: Schema, writing: Writing) -> Iterator[str]:
    code = writing.dialect.encoding
    lacks = f"has characters that {ENCODINGS[code]} lacks; {REMEDY}"
    for name, column in schema.columns.items():
        if not _encodable(name, code):
            yield f"column {name}: its name {lacks}"
        if column.type in UNREAD:
            continue
        for what, texts in (("categories", column.categories or ()), ("missing codes", column.missing_codes)):
            if not all(_encodable(text, code) for text in texts):
                yield f"column {name}: one of its {what} {lacks}"
        form = writing.forms.get(name)
        if form is not None and column.min is not None and column.max is not None:
            if isinstance(form, Dates):
                yield from _date_problems(name, column, form)
            if _ambiguous(schema, name, form):
                yield f"column {name}: a missing code reads as one of its values in format {column.format}; {REMEDY}"


def _encodable(text: str, code: str) -> bool:
    try:
        text.encode(code)
    except UnicodeError:
        return False
    return True


def _date_problems(name: str, column: Column, form: Dates) -> Iterator[str]:
    low, high = column.bounds
    steps = 60 if {"HH", "hh"} & set(form.parts) else 86_400
    if "SS" not in form.parts and (low % steps or column.step % steps):
        yield f"column {name}: its format {column.format} has no place for times that fine; {REMEDY}"
    years = [str(np.datetime64(int(v), "s").astype("datetime64[Y]")) for v in (low, high)]
    if "yy" in form.parts and not "1950" <= years[0] <= years[1] <= "2049":
        yield f"column {name}: years of two digits are read as 1950 to 2049, and its bounds are wider; {REMEDY}"


def _ambiguous(schema: Schema, name: str, form: Form) -> bool:
    """Whether a value, as it is written, is a missing code that it is not in plain text."""
    column, codes = schema.columns[name], schema.columns[name].missing_codes
    meant = spelt(pa.array(codes, pa.string()), form)
    numerals = [t for t in meant.to_pylist() if t not in ("", UNREADABLE)]
    if not numerals:
        return False
    free = column.model_copy(update={"missing": (), "nullable": None})
    places, _ = codec.known(free, np.array(numerals, dtype=object))
    alone = schema.model_copy(update={"columns": {name: column}})
    plain = codec.decode({name: places[places >= 0]}, alone, num_rows=int(np.sum(places >= 0)))[name]
    written = respelt(plain, form, codes)
    return bool(pc.any(pc.and_(stays(written, form, codes), pc.not_equal(written, plain))).as_py())
