"""Rows from a stored model: free, since the model was paid for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from synth.errors import UsageError, reading
from synth.files import whole_files
from synth.pipeline import sample_parts
from synth.pipeline.draw_rows import PILOT, Drawing, Drawn, DrawnTables, allowed_by, drawn, whole, with_rows
from synth.pipeline.request import check_num_rows, check_seed
from synth.pipeline.totals import totals_of
from synth.release import dialect_copy, folder, leaving
from synth.schema import codec
from synth.schema.codec import typed_frame
from synth.schema.dataset import ONE
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
) -> tuple[Any, float]:
    """Rows from a stored model: free. Returns the frame (of related tables, frames by table) and the model's
    probability of ``where``.

    Numbers and dates are such, categories text, missing values null.

    ``where``: by column (TABLE.COLUMN) a value, ``a|b``, or ``low..high`` for numbers and dates; of a table below the
    root, one of its rows meets all that is asked of it, and so of one whose persons keep their rows. ``num_rows``: of
    the root, or persons; default the model's total times that probability. ``out``: a file to write as well, of a
    kind that ``sample_to`` names.
    ``raw_text``: as of ``run``. ``dialect``: a CSV is written as the schema says that the private one is (``same``),
    or in UTF-8 with commas, points and ISO dates (``plain``). The same ``seed`` draws the same rows. A table
    that memory cannot hold is for ``sample_to``.

    **Guarantee**: that of the model's release. Errors: InputError for a damaged model, UsageError.

    Privacy: released answers only.
    """
    with reading(model, "model"):
        plan = _planned(model, num_rows, where, seed)
        tables, several = plan.stored.schema.written, plan.stored.schema.several
        dialect_copy.check_choice(dialect)
        if out is not None and several:
            raise UsageError("out: related tables are written by synth.app_api.sample_to, into a folder")
        if out is not None:
            dialect_copy.check(tables[ONE], dialect)
        texts = {n: whole(plan.drawn.blocks(n)) for n in tables}
    if out is not None:
        folder.write_table(Path(out), texts[ONE], tables[ONE], raw_text=raw_text, dialect=dialect)
    frames = {n: typed_frame(texts[n], s) for n, s in tables.items()}
    return frames if several else frames[ONE], plan.probability


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
    released: bool = False,
    mark: bool = False,
) -> tuple[Any, float, dict[str, str]]:
    """As ``sample``, any number of rows in bounded memory, to a file or to a new table of a database.

    ``out``: a .csv, .csv.gz, .parquet (a row group for each block of 2**20 rows), .xlsx, .dta, .sav or .xpt file; a
    name without an ending is a folder of Parquet files, drawn side by side and resumed where they stopped
    (sample_parts.py), whose rows differ from those that the same seed draws into one file; with Spark as ``source`` its
    executors draw that folder's files (sample_parts.py). Or ``source``, the database's address, and ``out_table``, a
    name that no table has yet. Of related tables ``out`` is a folder: a CSV file a table, and the release's public ones
    beside them. Of one table, into a file: ``released`` writes the rows that the release itself holds, rather than new
    ones, and ``mark`` adds a column ``synthetic`` that says yes in every row. ``model``, ``num_rows``, ``where``,
    ``seed``, ``raw_text``, ``dialect``: as of ``sample``. Returns the number of rows (of related tables by table), the
    model's probability of ``where``, and the places by table.

    **Guarantee**: that of the model's release. Errors: InputError, UsageError.

    Privacy: released answers only.
    """
    engine = _engine(source, out, out_table)
    if (released or mark) and (out is None or not Path(out).suffix):
        raise UsageError("`released=` and `mark=` are for one file; name it with `out=`, ending and all")
    if released and (num_rows is not None or where or seed is not None):
        raise UsageError("`released=`: the rows of the release as they are; leave out what draws others")
    with reading(model, "model"):
        plan = _planned(model, num_rows, where, seed)
        stored = plan.stored.schema
        if stored.several:
            if out is None or engine is not None:
                raise UsageError("`source=`: related tables are drawn into a folder; name it with `out=`")
            places = _tables_to(model, Path(out), plan, raw_text=raw_text)
            return plan.drawn.num_rows, plan.probability, places
        own = folder.released(model, plan.stored) if released else None
        rows = plan.drawn.num_rows[ONE] if own is None else len(next(iter(own.values())))
        schema = stored.written[ONE]
        text = out is not None and bool(Path(out).suffix)
        dialect_copy.check_choice(dialect)
        dialect_copy.check(schema, dialect if text else "plain")
        side_by_side = engine.dialect.name == "spark" if engine is not None else not text
        if side_by_side and stored.one_table:
            raise UsageError("a table whose persons keep their rows is drawn into one file; name a .parquet or .csv")
    if out is not None and not Path(out).suffix:
        sample_parts.write(
            model,
            plan.stored,
            Path(out),
            num_rows=rows,
            seed=seed,
            where=where or {},
            allowed=plan.allowed,
            draw=None if engine is None else partial(sample_parts.parts_of, engine, model, Path(out)),
        )
    elif engine is not None and engine.dialect.name == "spark":
        sample_parts.store(model, plan.stored, engine, str(out_table), num_rows=rows, seed=seed, where=where or {})
    elif engine is not None:
        engine.store(str(out_table), (codec.typed(texts, schema) for texts in plan.drawn.blocks(ONE)))
    else:
        blocks = plan.drawn.blocks(ONE) if own is None else [own]
        folder.write_blocks(Path(str(out)), blocks, schema, raw_text=raw_text, dialect=dialect, mark=mark)
    return rows, plan.probability, {"sample": str(out or out_table)}


def _engine(source: str | None, out: str | Path | None, out_table: str | None) -> Engine | None:
    """The engine that draws or takes the rows. Errors: UsageError unless one place is named."""
    engine = Engine(source) if source is not None else None
    if engine is not None and engine.dialect.name == "spark" and out is not None and not Path(out).suffix:
        if out_table is not None:
            raise UsageError("name one place for the rows: a folder `out=`, or `out_table=`")
        return engine
    if (source is None) != (out_table is None):
        raise UsageError(
            "`source=` and `out_table=` belong together: the database, and the table to be made in it; on Spark a "
            "folder `out=` may stand for the table"
        )
    if (out is None) == (source is None):
        raise UsageError("name one place for the rows: `out=`, or `source=` with `out_table=`")
    return engine


def _tables_to(model: str | Path, out: Path, plan: "_Plan", *, raw_text: bool) -> dict[str, str]:
    """Related tables into a folder; returns their files by table."""
    schema = plan.stored.schema
    if out.suffix:
        raise UsageError("`out={}`: related tables are written into a folder, a file each; name one", out)
    folder.check_out(out, schema)
    public = folder.public_beside(model, plan.stored)
    names = folder.write_tables(out, {n: plan.drawn.blocks(n) for n in schema.tables}, schema, raw_text=raw_text)
    for name, file in public.items():
        names[name] = file.name
        if (out / file.name).resolve() != file.resolve():
            whole_files.write(out / file.name, file.read_bytes())
    return {n: str(out / file) for n, file in names.items()}


@dataclass(frozen=True)
class _Plan:
    """What is to be drawn: ``size`` rows, or roots, and below them."""

    stored: folder.StoredModel
    size: int
    rng: np.random.Generator
    probability: float
    allowed: Mapping[str, Any]

    @cached_property
    def drawn(self) -> Drawn | DrawnTables:
        """Drawn when first asked for."""
        return drawn(self.stored.model, self.stored.schema, self.size, rng=self.rng, where=self.allowed or None)


def _planned(model: str | Path, num_rows: int | None, where: Mapping[str, str] | None, seed: int | None) -> _Plan:
    check_num_rows(num_rows)
    check_seed(seed)
    stored, rng = folder.load_model(model, tree=None), np.random.default_rng(seed)
    leaving.check_drawn(model, stored.card)
    allowed = allowed_by(stored.schema, where or {})
    if not allowed:
        share = 1.0
    elif stored.schema.tree is not None:
        # the chance that a root meets it; of persons, among those with a row
        least, own = (Drawing(stored.model, with_rows(stored.schema, a)).probability(rng=rng) for a in ({}, allowed))
        share = min(own / max(least, 1e-9), 1.0)
        if not share:
            raise UsageError("`where=`: of {:,} roots of the model none meets it; ask for less", PILOT)
    else:
        share = float(stored.model.probability(allowed[ONE]))
    totals = None if allowed else totals_of(stored.schema)
    size = num_rows or (totals.num_rows if totals else min(max(1, round(stored.model.total * share)), MOST_ROWS))
    return _Plan(stored, size, rng, share, allowed)
