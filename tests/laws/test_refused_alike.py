"""What would fail once the budget is gone is refused before, by `plan` and `run` with the same code."""

import pandas as pd
import pytest

import synth
from synth.errors import SynthError
from synth.privacy.ledger.ledger import Ledger

LETTER = "\u6f22"  # three bytes
FRAME = pd.DataFrame({"kind": ["x", "y"] * 300, "age": range(600), "code": ["3.07", "3", "3.0", "12.5"] * 150})
COMPLETE = synth.Schema.parse({"columns": {"kind": {"type": "categorical", "categories": ["x", "y"]}}})


def bare(**columns):
    return synth.Schema.parse({"columns": columns}, complete=False)


def outcome(call):
    try:
        call()
    except SynthError as error:
        return error.exit_code
    return 0


@pytest.mark.parametrize("epsilon", [1.0, 0.01, 1e-4])
@pytest.mark.parametrize("share", [1, 1 - 1e-6, 0.001, 1e-6, 1e-9, 1e-15])
def test_a_share_for_learning_is_refused_or_enough(share, epsilon, tmp_path):
    schema = bare(kind={"type": "categorical"}, age={"type": "integer"})
    asked = {"schema": schema, "epsilon": epsilon, "delta": 1e-5, "method": "independent", "learn_share": share}
    codes = {
        outcome(lambda: synth.plan(rows=600, **asked)),
        outcome(lambda: synth.run(FRAME, **asked, ledger=tmp_path / "l.sqlite", dataset="d", out=tmp_path / "out")),
    }
    assert len(codes) == 1
    assert codes <= {0, 2}
    assert codes == {0} or not Ledger(tmp_path / "l.sqlite").entries()


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_learnt_beginnings_are_categories_that_can_stand_beside_each_other(length, tmp_path):
    """ "3.07" begins with "3.0", which is "3" where categories are compared."""
    schema = bare(code={"type": "categorical", "grouping": {"kind": "prefix", "length": length}})
    asked = {"schema": schema, "epsilon": 8, "delta": 1e-5, "method": "independent", "learn_share": 0.5}
    done = synth.run(FRAME[["code"]], **asked, ledger=tmp_path / "l.sqlite", dataset="d")
    stated = synth.Schema.parse(
        {"columns": {"code": {"type": "categorical", "categories": ["1", "12"], "nullable": True}}}
    )
    listed = done.schema.columns["code"].categories
    assert len({synth.schema.table.canonical(c) for c in listed}) == len(listed)
    assert stated.columns["code"].size == 2
    if length > 1:
        share = (done.frame["code"].astype(str) == "3").mean()
        assert 0.4 < share < 0.8 if length < 4 else share > 0.3


@pytest.mark.parametrize(
    "name", [LETTER * n for n in (33, 34, 76, 84, 85, 86, 200)] + ["a" * 255, "a" * 256, "\u00e9" * 127]
)
def test_a_name_of_a_folder_or_a_file_fits_or_is_refused_before(name, tmp_path, command):
    """Letters of three bytes: a file system counts bytes."""
    ledger, out = tmp_path / "l.sqlite", tmp_path / name
    asked = {"schema": COMPLETE, "epsilon": 0.1, "delta": 1e-5, "method": "independent"}
    code = outcome(lambda: synth.run(FRAME, **asked, ledger=ledger, dataset="d", out=out))
    assert code == (0 if len(name.encode()) <= 255 else 2)
    assert bool(Ledger(ledger).entries()) == (code == 0)
    COMPLETE.save(tmp_path / "s.json")
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    asked = (tmp_path / "t.csv", "--schema", tmp_path / "s.json", "--ask", "count:kind", "--epsilon", "0.1", "--ledger")
    code, _, said = command("statistics", *asked, tmp_path / "m.sqlite", "--out", tmp_path / name)
    assert code == (0 if len(name.encode()) <= 255 and not out.exists() else 2), said
    code, _, said = command("statistics", *asked, tmp_path / "n.sqlite", "--out", tmp_path / f"{name[:-5]}.json")
    assert code == (0 if len(f"{name[:-5]}.json".encode()) <= 255 else 2), said
