"""The starter of the OMOP common data model: from its file to a release in which every rule holds."""

import json

import pandas as pd
import pytest

from tests import omop_rows

EVENTS = {
    "condition_occurrence": "condition_start_date",
    "measurement": "measurement_date",
    "drug_exposure": "drug_exposure_start_date",
}


def test_a_starter_leaves_to_the_office_what_only_it_can_know(command, tmp_path):
    out, _ = command.done("schema", "starter", "omop", "--out", tmp_path / "s.json", "--json")
    waiting = json.loads(out)["unconfirmed"]
    assert "measurement.measurement_concept_id" in waiting
    assert "person.gender_concept_id" not in waiting
    code, _, said = command("schema", "starter", "omob", "--out", tmp_path / "t.json")
    assert (code, "did you mean omop?" in said) == (2, True)


@pytest.mark.long
def test_rows_of_omop_become_a_release_that_keeps_every_rule(command, tmp_path):
    (tmp_path / "cdm").mkdir()
    omop_rows.write(tmp_path / "cdm", persons=300)
    command.done("schema", "starter", "omop", "--out", tmp_path / "s.json")
    run = ("run", tmp_path / "cdm", "--schema", tmp_path / "s.json", "--epsilon", 1, "--method", "independent")
    run += ("--out", tmp_path / "out", "--seed", 1)
    assert command(*run)[0] == 2, "nobody has confirmed bounds and lists"
    (tmp_path / "s.json").write_text((tmp_path / "s.json").read_text().replace('"unconfirmed"', '"declared"'))
    command.done("schema", "check", tmp_path / "s.json", "--table", tmp_path / "cdm")
    command.done(*run)
    tables = {n: pd.read_csv(tmp_path / "out" / f"{n}.csv") for n in ("person", "visit_occurrence", *EVENTS)}
    visits = tables["visit_occurrence"].merge(tables["person"], on="person_id", validate="many_to_one")
    assert len(visits) == len(tables["visit_occurrence"]) > 100
    assert (visits["birth_datetime"] <= visits["visit_start_date"]).all()
    assert (visits["visit_start_date"] <= visits["visit_end_date"]).all()
    assert (visits["death_date"].isna() | (visits["visit_end_date"] <= visits["death_date"])).all()
    for name, day in EVENTS.items():
        within = tables[name].merge(tables["visit_occurrence"], on=["person_id", "visit_occurrence_id"])
        assert len(within) == len(tables[name]) > 50
        assert within[day].between(within["visit_start_date"], within["visit_end_date"]).all(), name
    units = {int(concept): unit for concept, (unit, _) in omop_rows.MEASURED.items()}
    measured = tables["measurement"].query("measurement_concept_id > 0")
    assert (measured["measurement_concept_id"].map(units) == measured["unit_concept_id"]).all()
    kept = json.loads((tmp_path / "out" / "card.json").read_text())["constraints"]
    assert [rule["kept"] for rule in kept] == [1.0] * len(kept)
