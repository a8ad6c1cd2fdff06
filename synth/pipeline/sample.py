"""Rows from a stored model: free, since the model was paid for."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from synth.errors import UsageError, meant, reading
from synth.pipeline import sample_parts
from synth.pipeline.draw_rows import Drawn
from synth.pipeline.request import check_num_rows, check_seed
from synth.release import dialect_copy, folder
from synth.schema import codec
from synth.schema.table import Schema
from synth.schema.typed_frame import typed_frame
from synth.sources.engines.engine import Engine

MOST_ROWS = 10_000_000  # made unasked: at tiny epsilon the noisy total can be anything


def sample(
    model: str | Path,
    *,
    num_rows: int | None = None,
    where: Mapping[str, str] | None = None,
    out: str | Path | None = None,
    seed: int | None = None,
    raw_text: bool = False,
    dialect: str = "same",
) -> tuple[pd.DataFrame, float]:
    """Rows from a stored model: free. Returns the table and the model's probability of ``where``.

    Numbers and dates are such, categories text, missing values null.

    ``where``: by column a value, ``a|b``, or ``low..high`` for numbers and dates. ``num_rows``: default the
    model's total times that probability. ``out``: a .csv, .csv.gz, .parquet or .xlsx file to write as well.
    ``raw_text``: as of ``run``. ``dialect``: a CSV is written as the schema says that the private one is (``same``),
    or in UTF-8 with commas, points and ISO dates (``plain``). The same ``seed`` draws the same rows. A table
    that memory cannot hold is for ``sample_to``.

    **Guarantee**: that of the model's release. Errors: InputError for a damaged model, UsageError.

    Privacy: released answers only.
    """
    with reading(model, "model"):
        plan = _planned(model, num_rows, where, seed)
        dialect_copy.check_choice(dialect)
        dialect_copy.check(plan.schema, dialect if out is not None else "plain")
        texts = plan.drawn.whole()
    if out is not None:
        folder.write_table(Path(out), texts, plan.schema, raw_text=raw_text, dialect=dialect)
    return typed_frame(texts, plan.schema), plan.probability


def sample_to(
    model: str | Path,
    out: str | Path | None,
    *,
    num_rows: int | None = None,
    where: Mapping[str, str] | None = None,
    seed: int | None = None,
    raw_text: bool = False,
    dialect: str = "same",
    source: str | None = None,
    out_table: str | None = None,
) -> tuple[int, float]:
    """As ``sample``, any number of rows in bounded memory, to a file or to a new table of a database.

    ``out``: a .csv, .csv.gz, .parquet (a row group for each block of 2**20 rows) or .xlsx file; a name without an
    ending is a folder of Parquet files, drawn side by side and resumed where they stopped (sample_parts.py), whose rows
    differ from those that the same seed draws into one file. Or ``source``, the
    database's address, and ``out_table``, a name that no table has yet; on Spark the executors draw the parts of such
    a folder (sample_spark.py). Returns the number of rows and the model's
    probability of ``where``.

    **Guarantee**: that of the model's release. Errors: InputError, UsageError.

    Privacy: released answers only.
    """
    if (source is None) != (out_table is None):
        raise UsageError("--source and --out-table belong together: the database, and the table to be made in it")
    if (out is None) == (source is None):
        raise UsageError("name one place for the rows: --out, or --source with --out-table")
    engine = Engine(source) if source is not None else None
    with reading(model, "model"):
        plan = _planned(model, num_rows, where, seed)
        text = out is not None and bool(Path(out).suffix)
        dialect_copy.check_choice(dialect)
        dialect_copy.check(plan.schema, dialect if text else "plain")
    if out is not None and not Path(out).suffix:
        sample_parts.write(
            model, plan.stored, Path(out), num_rows=plan.num_rows, seed=seed, where=where or {}, allowed=plan.allowed
        )
    elif engine is not None and engine.dialect.name == "spark":
        from synth.pipeline import sample_spark  # it draws as this module does

        sample_spark.write(
            model, plan.stored, engine, str(out_table), num_rows=plan.num_rows, seed=seed, where=where or {}
        )
    elif engine is not None:
        engine.store(str(out_table), (codec.typed(texts, plan.schema) for texts in plan.drawn.blocks()))
    else:
        folder.write_blocks(Path(str(out)), plan.drawn.blocks(), plan.schema, raw_text=raw_text, dialect=dialect)
    return plan.num_rows, plan.probability


@dataclass(frozen=True)
class _Plan:
    """What is to be drawn."""

    stored: folder.StoredModel
    schema: Schema
    drawn: Drawn
    num_rows: int
    probability: float
    allowed: Mapping[str, np.ndarray]


def _planned(model: str | Path, num_rows: int | None, where: Mapping[str, str] | None, seed: int | None) -> _Plan:
    check_num_rows(num_rows)
    check_seed(seed)
    stored = folder.load_model(model)
    allowed = allowed_by(stored.schema, where or {})
    probability = float(stored.model.probability(allowed)) if allowed else 1.0
    size = num_rows or min(max(1, round(stored.model.total * probability)), MOST_ROWS)
    rng = np.random.default_rng(seed)
    drawn = Drawn(stored.model, stored.schema, size, rng=rng, where=allowed or None)
    return _Plan(stored, stored.schema, drawn, size, probability, allowed)


def allowed_by(schema: Schema, where: Mapping[str, str]) -> dict[str, np.ndarray]:
    """The positions that a condition allows, by column. Errors: UsageError.

    Privacy: public only.
    """
    return {n: _allowed(schema, n, wanted) for n, wanted in where.items()}


def _allowed(schema: Schema, name: str, wanted: str) -> np.ndarray:
    if name not in schema.measured():
        columns = meant(name, schema.measured())
        raise UsageError(f"--where {name}={wanted}: {name} is not a measured column of the model; {columns}")
    try:
        return codec.places_of(schema.columns[name], wanted)
    except ValueError as error:
        raise UsageError(f"--where {name}={wanted}: {error}") from None
