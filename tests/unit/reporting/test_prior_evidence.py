"""Where a prior was right and where the rows corrected it, from released answers alone."""

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import UsageError
from synth.report import publish
from tests.made import a_schema, codes, ran

SCHEMA = a_schema(sex=codes("f", "m"), ill=codes("no", "yes"), town=codes(*"abcd"))


def people(num_rows: int, seed: int, *, women: float = 0.5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 4, num_rows)
    return pd.DataFrame(
        {
            "sex": np.where(rng.random(num_rows) < women, "f", "m"),
            "ill": np.where(rng.random(num_rows) < (town + 1) / 6, "yes", "no"),
            "town": np.array(list("abcd"))[town],
        }
    )


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """A run whose prior has too few women, and no column town; its noise is seeded."""
    place = tmp_path_factory.mktemp("evidence")
    older = people(2000, 1, women=0.2).drop(columns="town")
    older.to_csv(place / "older.csv", index=False)
    asked = {"ledger": place / "l.sqlite", "seed": 1, "prior": place / "older.csv", "prior_reason": "old"}
    return ran(people(4000, 2), SCHEMA, out=place / "out", **asked), place / "out"


def test_the_wrong_column_is_corrected_and_the_right_one_counts(release):
    result, place = release
    by_name = {e.columns: e for e in synth.Release(place).priors()}
    assert [e.columns for e in result.priors()] == list(by_name)
    assert set(by_name) == {("sex",), ("ill",), ("sex", "ill")}, "of what the prior lacks nothing is said"
    sex, ill = by_name["sex",], by_name["ill",]
    assert sex.corrected
    assert sex.off == pytest.approx(0.3, abs=0.05)
    assert sex.rest < 0.05
    assert not ill.corrected
    assert ill.weight > sex.weight
    assert sex.labels == (("f", "m"),)
    for one in by_name.values():
        assert one.known.sum() == pytest.approx(1.0)
        assert one.known.shape == one.released.shape == one.made.shape


def test_the_publishable_report_shows_it_and_one_without_a_prior_does_not(release, tmp_path):
    publish.write(release[1], tmp_path / "with.html")
    text = (tmp_path / "with.html").read_text()
    assert "What was known beforehand" in text
    assert "corrected by the rows" in text
    ran(people(500, 3), SCHEMA, dataset="e", out=tmp_path / "out")
    assert synth.Release(tmp_path / "out").priors() == []
    publish.write(tmp_path / "out", tmp_path / "without.html")
    assert "What was known beforehand" not in (tmp_path / "without.html").read_text()


def test_a_result_that_was_not_written_says_so():
    made = ran(people(300, 3), SCHEMA, dataset="e", method="independent")
    with pytest.raises(UsageError, match="run with `out=`"):
        made.priors()
