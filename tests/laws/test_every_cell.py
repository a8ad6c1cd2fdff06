"""A cell of any type at its ends, or beyond, changes no other row, no message and no exit code: every source and type.

A type may be refused, by its name and before a cell is looked at: then a table of ordinary cells is refused alike.
"""

import json

import numpy as np
import pytest

from synth.errors import InputError
from synth.privacy.noise import SeededNoise
from synth.questions import Bins
from synth.sources import named_databases
from synth.sources.engines.warehouse import WarehousePlace
from synth.sources.table_source import FramePlace
from tests.engines import SPARK, fill, spark
from tests.laws import every_cell
from tests.laws.every_cell import CASES, KINDS, SCHEMA, WRITERS, parquet


def written(source, folder, kind, cells, request):
    folder.mkdir()
    if source == "spark":
        return WarehousePlace(spark(), str(parquet(folder, kind, cells)))
    if source == "postgres":
        engine = request.getfixturevalue("cluster")
        columns = every_cell.pa.table({n: every_cell.pa.array(cells, every_cell.pa.string()) for n in KINDS})
        fill(engine, "people", columns, dict.fromkeys(KINDS, str(kind)))
        return WarehousePlace(engine, "people")
    return WRITERS[source](folder, kind, cells)


def looked(place):
    """What is seen of a table: exact counts of each column, and the texts that learning and keys are made of."""
    try:
        place.check_form(KINDS)
    except InputError as refused:
        return str(refused)
    opened = place.under(SCHEMA).encoded(SCHEMA, SeededNoise(1), person=None, key=b"k" * 16)
    counts = opened.encoded.positions.counts([[Bins.each(n, SCHEMA.columns[n].cells)] for n in KINDS])
    table = place.under(SCHEMA).read(KINDS)
    raw = {n: [] for n in KINDS}
    for batch in place.under(SCHEMA).batches(every_cell.schema_of([]), KINDS):  # as keys are read
        for name in KINDS:
            column = batch.table.column(name)
            raw[name] += column.values[column.codes].tolist()
    texts = {n: table.column(n).values[table.column(n).codes].tolist() for n in KINDS}
    for name in KINDS:
        for text in {*texts[name], *raw[name]}:
            text.encode()  # every text is one
    return counts, texts, raw


def law(source, name, tmp_path, request):
    kind, ordinary, hostile = CASES[source][name]
    found = []
    for i, cells in enumerate((ordinary, hostile, [*ordinary, *hostile])):
        found.append(looked(written(source, tmp_path / str(i), kind, cells, request)))
    alone, beside, both = found
    if isinstance(alone, str):
        assert [f.replace(f"/{i}/", "/0/") for i, f in enumerate(found)] == [alone] * 3
        return
    for a, b, c in zip(alone[0], beside[0], both[0], strict=True):
        assert np.array_equal(a + b, c)
        assert a.sum() == len(ordinary)
    for texts, mixed in zip(alone[1:], both[1:], strict=True):
        for n in KINDS:
            assert mixed[n][: len(ordinary)] == texts[n]


def each(sources):
    return [pytest.param(s, n, id=f"{s}-{n}") for s in sources for n in CASES[s]]


@pytest.mark.parametrize(("source", "name"), each(WRITERS))
def test_every_cell_is_its_own_rows_alone(source, name, tmp_path, request):
    law(source, name, tmp_path, request)


@pytest.mark.parametrize("name", CASES["postgres"])
@pytest.mark.long
def test_every_cell_of_postgres_is_its_own_rows_alone(name, tmp_path, request):
    con = request.getfixturevalue("cluster").backend.con
    con.execute("DO $$ BEGIN CREATE TYPE mood AS ENUM ('a', '1', ''); CREATE TYPE pair AS (n integer, t text); "
                "EXCEPTION WHEN duplicate_object THEN NULL; END $$")  # fmt: skip
    con.commit()
    law("postgres", name, tmp_path, request)


@pytest.mark.parametrize("source", [SPARK])
@pytest.mark.slow
def test_every_cell_of_spark_is_its_own_rows_alone(source, tmp_path, request):
    for name in CASES[source]:
        (tmp_path / name).mkdir()
        law(source, name, tmp_path / name, request)
