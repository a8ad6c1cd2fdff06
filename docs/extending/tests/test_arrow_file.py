"""A row of an Arrow file is read as everywhere else, and alone."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import synth
from synth.privacy.noise import SystemNoise
from synth.sources.formats.arrow_file import ArrowPlace
from synth.sources.table_source import place_of

SCHEMA = synth.Schema.parse(
    {
        "columns": {
            "age": {"type": "integer", "min": 0, "max": 99, "source": "public"},
            "sex": {"type": "categorical", "categories": ["f", "m"], "source": "public"},
        }
    }
)
PEOPLE = pd.DataFrame({"age": ["30", "41", " 7 ", "99"], "sex": ["f", "m", "m", "f"]})
HOSTILE = pd.DataFrame({"age": ["1e999", "x" * 10_000], "sex": ["f", "m"]})


def written(frame, path):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_file(path, table.schema) as file:
        file.write_table(table, max_chunksize=3)
    return ArrowPlace(path)


def positions(place):
    read = place.under(SCHEMA).encoded(SCHEMA, SystemNoise(), person=None, key=bytes(32)).encoded
    return {n: np.asarray(read.positions[n]).tolist() for n in SCHEMA.measured()}


def test_an_arrow_file_is_read_as_a_csv_and_row_by_row(tmp_path, ledger):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    place = written(PEOPLE, tmp_path / "people.arrow")
    place.check_form(["age", "sex"])
    assert positions(place) == positions(place_of(tmp_path / "people.csv"))
    beside = positions(written(pd.concat([PEOPLE, HOSTILE]), tmp_path / "hostile.arrow"))
    assert {n: codes[:4] for n, codes in beside.items()} == positions(place)
    how = {"epsilon": 1, "delta": 1e-5, "method": "independent", "ledger": ledger}
    assert synth.run(place, schema=SCHEMA, dataset="arrow", **how).num_rows >= 0
    with pytest.raises(synth.InputError, match="no column age"):
        written(PEOPLE[["sex"]], tmp_path / "less.arrow").check_form(["age", "sex"])
