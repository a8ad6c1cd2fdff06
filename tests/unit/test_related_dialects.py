"""Related tables whose private files have semicolons and decimal commas: what reads the release reads it as written."""

import pytest

import synth

KEY = {"type": "identifier"}
WARD = {"type": "categorical", "categories": ["a", "b"]}
LENGTH = {"type": "float", "min": 0, "max": 10, "decimals": 1}
DIALECT = {"delimiter": ";", "decimal": ","}
FACTS = {
    "dataset": "clinic",
    "tables": {
        "patients": {"dialect": DIALECT, "columns": {"pid": KEY, "sex": WARD}},
        "stays": {"dialect": DIALECT, "columns": {"pid": KEY, "ward": WARD, "length": LENGTH}},
    },
    "keys": [{"parent": "patients", "child": "stays", "columns": ["pid"], "most_children": 2}],
}
ONE = {
    "dataset": "stays",
    "dialect": DIALECT,
    "unit": "pid",
    "max_rows": 2,
    "columns": {"pid": KEY, "sex": {**WARD, "of": "unit"}, "length": LENGTH},
}
pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.mark.parametrize("facts", [FACTS, ONE], ids=["two tables", "one table"])
def test_reports_questions_bundle_and_priors_read_a_release_in_another_dialect(tmp_path, facts):
    tables, ledger = tmp_path / "tables", tmp_path / "ledger.sqlite"
    if facts is FACTS:
        tables.mkdir()
        (tables / "patients.csv").write_text("pid;sex\n" + "".join(f"{i};a\n" for i in range(60)))
        (tables / "stays.csv").write_text("pid;ward;length\n" + "".join(f"{i % 60};b;7,5\n" for i in range(100)))
    else:
        tables = tmp_path / "stays.csv"
        tables.write_text("pid;sex;length\n" + "".join(f"{i % 60};a;7,5\n" for i in range(100)))
    how = {"schema": synth.app_api.parse_schema(facts), "epsilon": 20.0, "delta": 1e-5, "ledger": ledger}
    result = synth.run(tables, out=tmp_path / "out", method="independent", **how)
    assert synth.report(tmp_path / "out", tmp_path / "public.html")
    assert synth.report(tmp_path / "out", tmp_path / "own.html", real=tables, ledger=ledger)
    assert result.compare(tables, ledger=ledger).verdict.uses
    asked = {"table": "stays" if facts is FACTS else "rows", "kind": "mean", "column": "length"}
    said = synth.Release(tmp_path / "out").question(asked).price()["terms"]["mean"]["synthetic"]
    assert said == pytest.approx(7.5, abs=0.5)
    assert synth.bundle(tmp_path / "out", tmp_path / "out.zip", how="only", ledger=ledger, unfinished=True).parts
    later = synth.run(tables, prior=[str(tmp_path / "out")], **{**how, "schema": synth.app_api.parse_schema(facts)})
    (prior,) = later.card["priors"]
    assert prior["rows"] > 30
