"""One small release for all tests of reports."""

import pytest

from tests.conftest import SMALL, small_frame
from tests.made import ran


@pytest.fixture(scope="session", name="release")
def report_release(tmp_path_factory):
    """(folder of a release, its real table)."""
    folder = tmp_path_factory.mktemp("release")
    table = folder / "real.csv"
    small_frame(1500).to_csv(table, index=False)
    schema = {**SMALL, "weight": "age"}
    ran(table, schema, epsilon=2.0, out=folder / "out", ledger=folder / "ledger.sqlite", dataset="small", seed=1)
    return folder / "out", table
