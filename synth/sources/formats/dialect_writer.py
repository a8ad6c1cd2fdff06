"""A table's texts turned back into the spelling of its schema: decimal commas, dates in letters, another encoding.

The inverse of reading.py, except that no marks stand between thousands. What is written reads back, by the same
schema, as the positions of the plain text; ``problem`` finds beforehand what could not.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from synth.schema import codec
from synth.schema.dialect import ENCODINGS, Dates, Dialect, Numbers
from synth.schema.table import UNREAD, Column, Schema
from synth.sources.formats.cell_formats import UNREADABLE, Form, form_of, spelt, stays

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
        result = {n: form_of(c, schema.dialect) for n, c in schema.retained().columns.items()}
        forms = {n: f for n, f in result.items() if isinstance(f, Dates) or (f is not None and f.decimal != ".")}
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
        result = pc.replace_substring(plain, ".", form.decimal)
    else:
        result = pc.fill_null(_dated(plain, form), plain)
    return pc.if_else(stays(plain, form, codes), plain, result)


def _dated(plain: pa.Array, form: Dates) -> pa.Array:
    """Dates as the form writes them, with the clock where it has one; null for what is no date."""
    result = pc.extract_regex(plain, ISO)
    part = {n: pc.struct_field(result, n) for n in ("yyyy", "mm", "dd", "HH", "MM", "SS")}
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
    reported = respelt(plain, form, codes)
    return bool(pc.any(pc.and_(stays(reported, form, codes), pc.not_equal(reported, plain))).as_py())
