"""One small release for the tests of cards and bundles."""

import pytest

from tests.conftest import SMALL, small_frame
from tests.made import ran


@pytest.fixture(scope="session", name="folder")
def small_release(tmp_path_factory):
    """The folder of a release at epsilon 1, which no test changes."""
    place = tmp_path_factory.mktemp("small")
    small_frame(500).to_csv(place / "real.csv", index=False)
    ran(place / "real.csv", SMALL, out=place / "out", ledger=place / "ledger.sqlite", dataset="small", seed=1)
    return place / "out"


@pytest.fixture(autouse=True)
def paid(folder, monkeypatch):
    """The ledger that paid for it is the user's own, where none is named."""
    monkeypatch.setenv("SYNTH_LEDGER", str(folder.parent / "ledger.sqlite"))
