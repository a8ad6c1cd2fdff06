"""Ways in: Excel, files on the server, SDV metadata, code books; and facts that are edited or learnt."""

import io
import json

import pandas as pd
import pyreadstat
import pytest

import synth
from app.result import export
from app.run import runs
from app.table import intake, stored
from synth.app_api import jobs
from tests.app.elements import SCHEMA, cancels, charged, downloads, ended, keys, learnt, said, upload, uploader
from tests.made import facts_of

pytestmark = pytest.mark.xdist_group("app")
BOOK = ("city.csv", b"value,label\nRome,Roma\nOslo,Oslo\nBern,Berna\nParis,Parigi\n", "text/csv")


def plain(at) -> dict:
    return at.session_state["wizard"].plain


def test_an_excel_workbook_is_taken(start, people):
    out = io.BytesIO()
    pd.read_csv(io.BytesIO(people)).to_excel(out, index=False)
    at = upload(start(), out.getvalue(), name="people.xlsx")
    assert at.title[0].value == "The table"
    assert plain(at)["columns"]["age"]["type"] == "integer"


def test_a_file_of_spss_keeps_its_labels_from_upload_to_download(start, people, tmp_path, monkeypatch):
    frame, sexes = pd.read_csv(io.BytesIO(people)), {1: "male", 2: "female"}
    pyreadstat.write_sav(
        frame.assign(sex=1 + frame.index % 2), tmp_path / "t.sav", variable_value_labels={"sex": sexes}
    )
    at = upload(start(), (tmp_path / "t.sav").read_bytes(), name="people.sav")
    assert plain(at)["columns"]["sex"] == {
        "type": "categorical",
        "categories": ["1", "2"],
        "labels": ["male", "female"],
        "source": "unconfirmed",
    }
    charged(at, rows=240)
    ended(at)
    at.selectbox(key="program").set_value(".sav").run()
    at.checkbox(key="mark").check().run()
    assert {"Table (SPSS)"} <= downloads(at)
    job = jobs.Job(at.session_state["wizard"].job)
    monkeypatch.setattr(export, "bundle", lambda *_: None)  # asks for the visitor's session
    (tmp_path / "back.sav").write_bytes(export.converted(job, runs.release(job), "synthetic.sav", True))
    back, about = pyreadstat.read_sav(tmp_path / "back.sav")
    assert about.variable_value_labels == {"sex": sexes}
    assert about.file_label.startswith("SYNTHETIC")
    assert set(back["synthetic"]) == {"yes"}


def test_an_upload_is_out_of_the_servers_memory_before_a_second_process_reads_it(start, people, monkeypatch):
    real, closed = intake.drafted, []

    def watched(*arguments, **named):
        closed.extend(u.closed for u in held)
        return real(*arguments, **named)

    keep, held = stored.keep, []
    monkeypatch.setattr(stored, "keep", lambda source, *rest: held.append(source) or keep(source, *rest))
    monkeypatch.setattr(intake, "drafted", watched)
    at = upload(start(), people)
    assert "age" in plain(at)["columns"]
    assert closed == [True]


def test_a_file_on_the_server_is_used_where_it_lies(start, people, tmp_path, monkeypatch):
    folder = tmp_path / "mounted" / "2024"
    folder.mkdir(parents=True)
    (folder / "people.csv").write_bytes(people)
    monkeypatch.setenv("SYNTH_TABLES", str(tmp_path / "mounted"))
    at = start()
    at.selectbox(key="server_file").set_value(
        at.selectbox(key="server_file").options[0] and folder / "people.csv"
    ).run()
    at.button(key="use_file").click().run()
    assert at.title[0].value == "The table"
    w = at.session_state["wizard"]
    assert (w.table, w.uploaded) == (folder / "people.csv", False)
    assert not list(w.place.glob("people.csv"))
    again = start()
    again.button(key="remove_0").click().run()
    assert (folder / "people.csv").exists(), "only our note of it is removed"


def test_a_folder_of_parquet_files_is_one_table_from_choice_to_comparison(start, people, tmp_path, monkeypatch):
    parts = tmp_path / "mounted" / "people"
    parts.mkdir(parents=True)
    rows = pd.read_csv(io.BytesIO(people))
    rows[:100].assign(age=20).to_parquet(parts / "part-0.parquet")
    rows[100:].to_parquet(parts / "part-1.parquet")
    monkeypatch.setenv("SYNTH_TABLES", str(tmp_path / "mounted"))
    at = start()
    at.selectbox(key="server_file").set_value(parts).run()
    at.button(key="use_file").click().run()
    assert at.title[0].value == "The table"
    assert plain(at)["columns"]["age"]["max"] == 80, "the second part was read too"
    charged(at, rows=240)
    ended(at)
    at.button(key="compare").click().run()
    assert not at.error
    assert "Uses 240 of 240 real" in said(at)
    assert sorted(p.name for p in parts.iterdir()) == ["part-0.parquet", "part-1.parquet"]


def test_a_path_that_is_not_there_is_refused(start):
    at = start()
    at.text_input(key="server_file_typed").set_value("/nowhere/people.csv").run()
    at.button(key="use_file").click().run()
    assert "no such file" in said(at)


def test_sdv_metadata_give_the_kinds_and_the_rest_is_drafted(start, people):
    metadata = {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            "people": facts_of(
                age={"sdtype": "numerical", "computer_representation": "Int64"},
                team={"sdtype": "categorical"},
                city={"sdtype": "id"},
            )
        },
    }
    at = upload(start(), people, metadata)
    columns = plain(at)["columns"]
    assert (columns["city"]["type"], columns["team"]["type"], columns["age"]["min"]) == ("identifier", "categorical", 0)
    assert "confirm_all" in keys(at)


def test_code_books_are_confirmed_by_whoever_hands_them_over(start, people):
    at = start()
    uploader(at, "Code books").set_value([BOOK])
    uploader(at, "Table").set_value(("people.csv", people, "text/csv")).run()
    assert plain(at)["columns"]["city"]["labels"] == ["Roma", "Oslo", "Berna", "Parigi"]
    assert at.button(key="confirm_all").label == "Confirm 2 columns"


def test_a_code_book_is_taken_later_too(start, people):
    at = upload(start(), people)
    at.selectbox(key="book_column").set_value("city").run()
    uploader(at, "Code book (CSV)").set_value(BOOK)
    at.run()
    at.button(key="take_book").click().run()
    assert plain(at)["columns"]["city"]["categories"] == ["Rome", "Oslo", "Bern", "Paris"]


def test_a_json_file_of_another_kind_is_refused(start, people):
    at = upload(start(), people, {"name": "x"})
    assert at.error
    at = start()
    uploader(at, "Description").set_value(("x.json", b"[1]", "application/json"))
    uploader(at, "Table").set_value(("people.csv", people, "text/csv")).run()
    assert "neither a description" in said(at)


def test_rules_across_columns_are_added_as_sentences_and_removed(start, people):
    at = upload(start(), people, SCHEMA)
    at.multiselect(key="rule_0_impossible_columns").set_value(["city", "age"]).run()
    at.multiselect(key="rule_0_impossible_city").set_value(["Oslo", "Bern"]).run()
    at.text_input(key="rule_0_impossible_age_high").set_value("30").run()
    assert "It will say: Never together: city Oslo or Bern and age from 0 to 30." in said(at).replace("**", "")
    at.button(key="add_rule").click().run()
    rule = {"kind": "impossible", "rows": {"city": "Oslo|Bern", "age": "0..30"}}
    assert plain(at)["constraints"] == [rule]
    assert "onward" in keys(at)
    at.button(key="drop_rule_0").click().run()
    assert not plain(at)["constraints"]


def test_a_person_as_the_unit_needs_an_identifier_and_a_number_of_rows(start, people):
    facts = {**SCHEMA, "columns": {**SCHEMA["columns"], "city": {"type": "identifier", "source": "public"}}}
    at = upload(start(), people, facts)
    edition = at.session_state["wizard"].edition
    at.selectbox(key=f"unit_{edition}").set_value("city").run()
    at.number_input(key=f"max_rows_{edition}").set_value(2).run()
    assert synth.Schema.parse({k: v for k, v in plain(at).items() if v is not None}).person == "city"
    assert plain(at)["max_rows"] == 2
    at.button(key="onward").click().run()
    assert "at most 2" in said(at)


def test_learning_facts_is_charged_and_says_so(start, people):
    synth.Ledger().set_policy("club", max_epsilon=30.0)  # else the proposed cap of 3 holds
    at = upload(start(), people, SCHEMA)
    next(m for m in at.multiselect if m.key.startswith("learn_columns")).set_value(["team"]).run()
    at.number_input(key="learn_epsilon").set_value(4.0).run()
    at.button(key="learn").click().run()
    learnt(at)
    assert "Learnt privately: team" in said(at)
    assert plain(at)["columns"]["team"]["source"] == "private"
    assert "Learning them cost epsilon 4" in said(at)
    assert synth.Ledger().summary("club")[0].epsilon == 4.0
    assert json.dumps(plain(at)["columns"]["team"]["categories"]) == '["a", "b"]'


def test_learning_that_is_cancelled_says_what_was_spent(start, people):
    synth.Ledger().set_policy("club", max_epsilon=30.0)
    at = upload(start(), people, SCHEMA)
    next(m for m in at.multiselect if m.key.startswith("learn_columns")).set_value(["team"]).run()
    at.button(key="learn").click().run()
    cancels(at).click().run()
    learnt(at)
    assert "nothing was learnt: cancelled" in said(at).lower()  # before it began, or on the way
    spent = sum(t.epsilon for t in synth.Ledger().summary("club"))
    assert ("Nothing was spent" in said(at)) == (spent == 0)


def test_a_list_is_learnt_from_a_file_that_is_read_in_its_own_way(start):
    """Semicolons and days first: what is asked of the rows is read as the whole description says."""
    rows = [f"p{i // 2};{1 + i % 28:02d}.03.2024;w{i % 150}" for i in range(600)]
    at = upload(start(), ("person;day;place\n" + "\n".join(rows) + "\n").encode())
    at.button(key="read_right").click().run()
    assert at.title[0].value == "The table", "an answer leads on"
    assert next(s for s in at.selectbox if s.key.startswith("unit_")).value == "person", "the safe answer is chosen"
    assert "rows of one person" in said(at)
    chosen = next(m for m in at.multiselect if m.key.startswith("learn_columns_"))
    chosen.set_value(["place", "day"]).run()
    at.number_input(key="learn_epsilon").set_value(2.0).run()
    at.button(key="learn").click().run()
    learnt(at)
    assert "Learnt privately: place, day" in said(at), said(at)
    columns = at.session_state["wizard"].plain["columns"]
    assert columns["day"]["source"] == columns["place"]["source"] == "private"
    assert columns["day"]["format"] == "dd.mm.yyyy"


def test_uses_are_added_from_a_plan_and_removed(start, people):
    at = upload(start(), people, SCHEMA)
    at.text_area(key="uses_0").set_value("age by city (weight 2)\nFunded by nobody").run()
    assert "It will say: the table of age, city; weight 2" in said(at).replace("**", "")
    assert "Not understood, and left out: Funded by nobody" in said(at)
    at.button(key="add_uses").click().run()
    assert plain(at)["uses"] == [{"kind": "table", "columns": ["age", "city"], "weight": 2.0}]
    assert "onward" in keys(at)
    at.button(key="drop_use_0").click().run()
    assert not plain(at)["uses"]
