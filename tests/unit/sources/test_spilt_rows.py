"""Rows beyond memory lie in a file without a name."""

import numpy as np

from synth.questions import Bins
from synth.sources.rows.spill import Spill


def test_a_table_beyond_memory_lies_in_a_file_without_a_name(tmp_path, monkeypatch):
    """Rows appended in odd parts come back in order, and the folder for temporary files shows nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    spill, rng = Spill({"a": 300, "b": 2}, held=500, chunk=100), np.random.default_rng(0)
    parts = [{"a": rng.integers(0, 300, n), "b": rng.integers(0, 2, n)} for n in (1, 250, 99, 1000, 7)]
    for part in parts:
        spill.append(part)
    whole = {n: np.concatenate([p[n] for p in parts]) for n in "ab"}
    assert {n: a.tolist() for n, a in spill.items()} == {n: a.tolist() for n, a in whole.items()}
    assert list(tmp_path.iterdir()) == []
    retained = np.flatnonzero(whole["b"])
    spill.keep(retained)
    assert spill["a"].tolist() == whole["a"][retained].tolist()
    assert (
        spill.counts([[Bins.each("a", 300)]])[0].tolist() == np.bincount(whole["a"][retained], minlength=300).tolist()
    )
