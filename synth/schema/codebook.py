"""Code books: every value of a column and its label, as its publisher lists them."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from synth.errors import InputError, UsageError
from synth.files import regular_files
from synth.schema.sdv_metadata import Exchanged
from synth.schema.table import CATEGORICAL, UNCONFIRMED, Column, Schema, canonical, parse


class CodeBook(NamedTuple):
    """Every value a column can take, in the file's order, each with its label."""

    values: tuple[str, ...]
    labels: tuple[str, ...]


def load_codes(path: str | Path) -> CodeBook:
    """A code book: a CSV file with the header ``value,label`` and a line for each value.

    Further columns are left aside; a value without a label is its own label.
    Errors: InputError naming the line and the rule.
    """
    try:
        reader = csv.reader(io.StringIO(regular_files.text(path, encoding="utf-8-sig"), newline=""), strict=True)
        lines = [(reader.line_num, [c.strip() for c in row]) for row in reader if any(c.strip() for c in row)]
    except OSError as error:
        raise InputError("code book {}: {}; check the name", path, error) from None
    except (UnicodeDecodeError, csv.Error):
        raise InputError("code book {}: not a UTF-8 CSV file; save it as UTF-8 CSV with commas", path) from None
    if not lines or [cell.lower() for cell in lines[0][1][:2]] != ["value", "label"]:
        raise InputError("code book {}: its first line must be the header value,label", path)
    labels: dict[str, str] = {}
    seen = set[str]()
    for number, (value, *rest) in lines[1:]:
        if not value:
            raise InputError("code book {}: line {} has no value; empty cells are declared by `nullable`", path, number)
        if canonical(value) in seen:
            raise InputError("code book {}: line {}: value {!r} occurs twice; keep one", path, number, value)
        seen.add(canonical(value))
        labels[value] = rest[0] if rest and rest[0] else value
    if not labels:
        raise InputError("code book {}: it has a header and no codes; at least one is needed", path)
    return CodeBook(tuple(labels), tuple(labels.values()))


def with_codes(schema: Schema, name: str, book: CodeBook, *, missing: Sequence[str] = ()) -> Exchanged:
    """The schema with a column's categories and labels from its code book: whoever hands it over confirms it.

    Values that are missing codes, of the column or by ``missing``, stay missing codes and lose their label. Missing
    codes that were drafted from rows and are not in the book are nobody's word: the column stays ``unconfirmed``.
    Errors: UsageError for a name that is no column; InputError when no category is left.
    """
    if name not in schema.columns:
        raise UsageError("code book of {}: the schema has no such column; check the spelling", name)
    old = schema.columns[name]
    codes = {canonical(code): code for code in (*old.missing_codes, *missing)}
    pairs = [(v, text) for v, text in zip(book.values, book.labels, strict=True) if canonical(v) not in codes]
    listed = [v for v in book.values if canonical(v) in codes]
    notes = [f"{name}: {value!r} means missing, so its label is dropped" for value in listed]
    known = {canonical(value) for value in listed}
    drafted = old.source == UNCONFIRMED and any(canonical(code) not in known for code in old.missing_codes)
    if drafted:
        notes.append(f"{name}: some missing codes were drafted and are not in the code book; it stays unconfirmed")
    missing_codes = [*old.missing_codes, *(v for v in listed if canonical(v) not in map(canonical, old.missing_codes))]
    fits = old.type in CATEGORICAL and not (old.type == "boolean" and len(pairs) > 2)
    column = Column(
        type=old.type if fits else "categorical",
        categories=tuple(value for value, _ in pairs),
        labels=tuple(text for _, text in pairs),
        nullable="" in missing_codes or None,
        missing=tuple(missing_codes) if any(missing_codes) else None,
        source=UNCONFIRMED if drafted else "declared",
        description=old.description,
    )
    changed = schema.model_copy(update={"columns": {**schema.columns, name: column}})
    return Exchanged(parse(changed.model_dump(exclude_none=True), complete=False), notes)


def with_books(schema: Schema, books: Mapping[str, CodeBook], *, missing: Sequence[str] = ()) -> Exchanged:
    """``with_codes`` for several columns, one after the other."""
    notes: list[str] = []
    for name, book in books.items():
        exchanged = with_codes(schema, name, book, missing=missing)
        schema, notes = exchanged.schema, notes + exchanged.notes
    return Exchanged(schema, notes)
