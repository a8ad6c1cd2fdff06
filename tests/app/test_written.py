"""How the table is written is a switch where there is a choice; a long list can be cut down to a public one."""

import copy
import json
from pathlib import Path

import pytest

import synth
from app.run import options
from app.session.state import Wizard
from synth import jobs
from tests.app.elements import SCHEMA, ended, keys, said, to_run, upload

pytestmark = pytest.mark.xdist_group("app")


def test_a_table_with_formats_of_its_own_can_be_written_plain(start, people):
    schema = copy.deepcopy(SCHEMA)
    schema["columns"]["age"]["format"] = "1.234,5"
    at = to_run(upload(start(), people, schema))
    at.radio(key="written").set_value("plain").run()
    at.button(key="spend").click().run()
    ended(at)
    job = jobs.Job(at.session_state["wizard"].job)
    assert job.status().state == "done", job.status().message
    assert (Path(job.path) / "release" / "synthetic.csv").exists()
    assert not (Path(job.path) / "release" / "synthetic.dialect.csv").exists()
    assert job.request()["dialect"] == "plain", "another fit is written as the first was"


def test_a_plain_table_has_no_such_switch(start, people):
    at = to_run(upload(start(), people, SCHEMA))
    assert not [r for r in at.radio if r.key == "written"]
    assert options.written_as(Wizard(plain=SCHEMA, written="plain")) == "same"


def test_a_list_can_be_cut_down_to_a_public_one(start, people):
    schema = copy.deepcopy(SCHEMA)
    schema["columns"]["city"] |= {"risk": "many", "source": "unconfirmed"}
    at = upload(start(), people, schema)
    w = at.session_state["wizard"]
    at.selectbox(key=f"way_{w.edition}_city").set_value("list").run()
    assert at.button(key="keep_city").disabled
    at.text_area(key=f"listed_{w.edition}_city").set_value("Rome\nRome\n Bern ")
    at.text_input(key=f"origin_{w.edition}_city").set_value("the atlas").run()
    at.button(key="keep_city").click().run()
    assert "city keeps 2 values" in said(at)
    column = at.session_state["wizard"].plain["columns"]["city"]
    assert column["categories"] == ["Rome", "Bern", "other"]
    result = synth.Schema.parse(json.loads(json.dumps(at.session_state["wizard"].plain)))
    assert result.columns["city"].grouping.other == "other"
    assert not synth.app_api.alone(result), "with its reason it waits no more"
    assert "onward" in keys(at)
