"""One small release for all tests of reports."""

import json

import pytest

import synth
from tests.conftest import SMALL, small_frame


@pytest.fixture(scope="session", name="release")
def report_release(tmp_path_factory):
    """(folder of a release, its real table)."""
    folder = tmp_path_factory.mktemp("release")
    table = folder / "real.csv"
    small_frame(1500).to_csv(table, index=False)
    schema = synth.Schema.parse({**json.loads(json.dumps(SMALL)), "weight": "age"})
    synth.run(
        table,
        schema=schema,
        epsilon=2.0,
        delta=1e-5,
        out=folder / "out",
        ledger=folder / "ledger.sqlite",
        dataset="small",
        seed=1,
    )
    return folder / "out", table
