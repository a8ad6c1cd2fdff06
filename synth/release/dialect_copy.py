"""The synthetic table once more, written as the private one is: encoding, separators, decimal marks, dates.

``synthetic.csv`` stays plain, since reports, bundles and refits read it; its twin is for programs that expect the
private table's own dialect.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args

import pyarrow as pa

from synth.errors import InputError, UsageError, likely
from synth.schema import csv_injection
from synth.schema.table import Schema
from synth.sources.formats import cell_formats, csv_files, files
from synth.sources.formats.cell_formats import Writing

NAME = "synthetic.dialect.csv"
DIGEST = "synthetic_dialect_sha256"  # in the card
Choice = Literal["same", "plain"]


def check(schema: Schema, choice: str) -> None:
    """Refuses, before anything is spent, a table that could not be written as its schema says.

    Errors: UsageError for a choice that is none, InputError with the column and the remedy; never a value.
    """
    check_choice(choice)
    fault = cell_formats.problem(schema) if choice == "same" else None
    if fault is not None:
        raise InputError("schema: {}", fault)


def check_choice(choice: str) -> None:
    """Errors: UsageError for a choice that is none, whether a table will be written or not."""
    if choice not in get_args(Choice):
        remedy = likely(choice, get_args(Choice)) or "choose same (as the schema says) or plain (UTF-8, commas, points)"
        raise UsageError("`dialect={}`: {}", choice, remedy)


def write(
    folder: Path, schema: Schema, choice: str, note: Callable[[str], None], *, raw_text: bool = False
) -> str | None:
    """Writes the twin of a folder's table in bounded memory; returns its SHA-256, None where there is nothing to write.

    What was learnt after ``check`` may not fit the schema's encoding: then a note says so, and no twin is there.
    """
    wanted = Writing.of(schema) if choice == "same" else None
    fault = cell_formats.problem(schema) if wanted is not None else None
    (folder / NAME).unlink(missing_ok=True)
    if fault is not None:
        note(f"{NAME} is not written: {fault}")
    if wanted is None or fault is not None:
        return None
    files.write_parts(
        folder / NAME, _parts(folder / "synthetic.csv", schema, wanted, raw_text=raw_text), dialect=wanted.dialect
    )
    return digest(folder)


def _parts(table: Path, schema: Schema, wanted: Writing, *, raw_text: bool) -> Iterator[dict[str, pa.ChunkedArray]]:
    """The plain table's cells as they stand there, apostrophes included, some rows at a time."""
    names = list(schema.retained().columns)
    heads = names if raw_text else [csv_injection.marked(n, names) for n in names]
    for part in csv_files.stream(table, csv_files.header(table).names):
        texts = wanted.columns(dict(zip(names, part.columns, strict=True)))
        yield dict(zip(heads, texts.values(), strict=True))


def digest(folder: Path) -> str:
    """SHA-256 of the twin."""
    with open(folder / NAME, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
