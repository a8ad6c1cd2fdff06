"""Tables that belong together, from two files to a release, through the application's pages."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

import synth
from app.run import forecast
from app.session.state import facts_of, view
from app.table import keys as keys_of_tables
from app.table import stored
from synth import app_api, jobs
from tests.app.elements import all_helped, downloads, ended, keys, learnt, said, uploader

pytestmark = pytest.mark.xdist_group("app")
PATIENTS, MOST = 300, 3


@pytest.fixture(scope="module")
def clinic() -> dict[str, bytes]:
    """Patients and up to five stays of each, as CSV files; the ward follows the patient's sex."""
    rng = np.random.default_rng(3)
    woman = rng.random(PATIENTS) < 0.5
    owner = np.repeat(np.arange(PATIENTS), rng.integers(0, 6, PATIENTS))
    patients = pd.DataFrame(
        {
            "patient_id": [f"p{i}" for i in range(PATIENTS)],
            "sex": np.where(woman, "f", "m"),
            "times": np.bincount(owner, minlength=PATIENTS),
        }
    )
    stays = pd.DataFrame(
        {
            "stay_id": np.arange(len(owner)),
            "patient_id": [f"p{i}" for i in owner],
            "ward": np.where(woman[owner], "north", "south"),
        }
    )
    tables = {"patients": patients, "stays": stays}
    return {f"{name}.csv": table.to_csv(index=False).encode() for name, table in tables.items()}


def loaded(at, clinic: dict[str, bytes]):
    """The page The table with both tables, uploaded at once."""
    return uploader(at, "Table").set_value([(n, b, "text/csv") for n, b in clinic.items()]).run()


def confirmed(at):
    """Each key and each column of all tables on the steward's word, at once."""
    return at.button(key="confirm_all").click().run()


def test_a_parent_may_have_as_many_rows_as_the_library_takes(start):
    """The draft of a table with many rows of one parent stands on the page, at most the library's bound."""
    for many, kept in ((60, 57), (600, 500)):  # what keeps 95 % of the rows
        stays = "".join(f"{i},p{i // many},{i % 3}\n" for i in range(3 * many))
        patients = b"patient_id,sex\np0,f\np1,m\np2,f\n"
        files = {"patients.csv": patients, "stays.csv": f"stay_id,patient_id,ward\n{stays}".encode()}
        at = loaded(start(), files)
        assert not at.error, at.error[0].value
        assert [n.value for n in at.number_input if n.key.startswith("most_")] == [kept]


@pytest.mark.slow
def test_two_tables_go_from_upload_to_release_with_one_spend(start, clinic):
    at = loaded(start(), clinic)
    assert at.title[0].value == "The table"
    assert "stays belongs to patients by patient_id" in said(at)
    assert "one of patients with all its rows there and in stays" in said(at)
    all_helped(at)
    assert "onward" not in keys(at), "nobody has confirmed it yet"
    next(n for n in at.number_input if n.key.startswith("most_")).set_value(MOST).run()
    at.text_input(key="dataset").set_value("clinic").run()
    confirmed(at)
    _uses(at)
    at.button(key="onward").click().run()
    assert "“Row” means one of patients" in said(at)
    at.button(key="rows_of_file").click().run()
    assert at.session_state["wizard"].rows == PATIENTS, "the root's rows"
    forecast = said(at.run())
    assert "stays.ward by patients.sex: up to" in forecast
    assert "stays.ward ~ patients.sex: epsilon" in forecast
    assert set(at.table[0].value["Table"]) == {"patients", "stays"}
    assert "Will be charged to clinic: epsilon 1" in said(at)
    at.button(key="spend").click().run()
    ended(at)
    job = jobs.Job(at.session_state["wizard"].job)
    assert job.status().state == "done", job.status().message
    assert [t.epsilon for t in synth.Ledger().summary("clinic")] == [1.0]
    _reviewed(at)
    _released(at, job)
    _asked(start)
    _result_again(start, at)


def _uses(at) -> None:
    """From a plan in plain words and from a list; what cannot be is refused with what to do instead."""
    at.text_area(key="uses_0").set_value("Do wards differ?\nWard by patients.sex\nward ~ sex\nFunded by X").run()
    assert "It will say: the table of stays.ward, patients.sex" in said(at).replace("**", "")
    assert "Not understood, and left out: Funded by X" in said(at)
    at.multiselect(key="use_columns_0").set_value(["stays.ward", "patients.times"]).run()
    at.number_input(key="use_weight_0").set_value(2.0).run()
    at.button(key="add_uses").click().run()
    uses = at.session_state["wizard"].plain["uses"]
    assert [u["kind"] for u in uses] == ["table", "regression", "table"]
    assert uses[2] == {"kind": "table", "columns": ["stays.ward", "patients.times"], "weight": 2.0}
    at.text_area(key="uses_3").set_value("patients.sex ~ stays.wrad").run()
    at.button(key="add_uses").click().run()
    assert any("'stays.wrad' is not among the columns; did you mean stays.ward" in e.value for e in at.error)
    assert len(at.session_state["wizard"].plain["uses"]) == 3
    all_helped(at)


def _reviewed(at) -> None:
    assert "synthetic rows:" in said(at)
    at.button(key="compare").click().run()
    assert not at.exception
    assert not at.error
    assert "named: stays.ward by patients.sex" in said(at)
    assert "named: stays.ward ~ patients.sex" in said(at)
    assert "Rows of stays of one row of patients" in said(at)
    assert "columns of stays with those of tables above" in set(at.table[1].value["About"])
    at.selectbox(key="across_table").set_value("stays").run()
    at.button(key="compare_table").click().run()
    assert "SDMetrics" in said(at)
    assert not at.error
    all_helped(at)


def _released(at, job: jobs.Job) -> None:
    assert at.title[0].value == "The result"
    all_helped(at)
    assert "It covers one of patients with all its rows there and in" in said(at)
    assert {"bundle", "Card", "Report"} <= downloads(at)
    archive = zipfile.ZipFile(job.path / "bundle-only.zip")
    made = {n: pd.read_csv(io.BytesIO(archive.read(f"{n}.csv"))) for n in ("patients", "stays")}
    assert made["stays"].patient_id.isin(made["patients"].patient_id).all()
    assert made["stays"].patient_id.value_counts().max() <= MOST
    assert not [n for n in archive.namelist() if "steward" in n]
    at.number_input(key="more_rows").set_value(50).run()
    at.button(key="draw").click().run()
    (drawn,) = job.path.glob("more-*")
    assert len(pd.read_csv(drawn / "patients.csv")) == 50
    assert [t.epsilon for t in synth.Ledger().summary("clinic")] == [1.0], "more rows are free"


def _asked(start) -> None:
    """A question names the table that it is about, in the form as in a file; its answer is charged once."""
    at = start().switch_page(view("questions")).run()
    at.selectbox(key="q_table").set_value("stays").run()
    assert "survival" not in at.selectbox(key="q_kind").options
    at.selectbox(key="q_kind").set_value("share").run()
    at.multiselect(key="q_of").set_value(["patients.sex"]).run()
    assert not at.exception
    all_helped(at)
    at.button(key="ask_question").click().run()
    question = jobs.asked.listing()[0]
    assert question.questions == {"table": "stays", "kind": "share", "of": {"patients.sex": "f"}}
    at.button(key=f"answer_{question.name}").click().run()
    assert not at.exception
    done = question.answer
    assert done.wait(120).state == "done", done.status().message
    assert len(json.loads((done.path / app_api.ANSWER).read_text())["terms"]) == 1
    assert [t.epsilon for t in synth.Ledger().summary("clinic")] == [pytest.approx(1.2)]
    assert "answered" in said(start().switch_page(view("questions")).run())


def _result_again(start, before) -> None:
    again = start()  # a later visit finds the tables with their description, and the result
    again.button(key="use_0").click().run()
    w = again.session_state["wizard"]
    assert w.plain == before.session_state["wizard"].plain
    assert facts_of(w)[0] is not None
    assert sorted(p.name for p in w.table.iterdir()) == ["patients.csv", "stays.csv"]


def test_a_folder_with_several_parents_is_drawn_and_asked_about(start, clinic, home, monkeypatch):
    """Wards refer to nothing; stays refer to two tables, and one of them may be public."""
    folder = home / "mounted" / "hospital"
    folder.mkdir(parents=True)
    for name, content in clinic.items():
        (folder / name).write_bytes(content)
    stays = pd.read_csv(folder / "stays.csv").assign(ward_id=lambda t: t.index % 2)
    stays.drop(columns="ward").to_csv(folder / "stays.csv", index=False)
    (folder / "wards.csv").write_text("ward_id,beds\n0,12\n1,30\n")
    monkeypatch.setenv("SYNTH_TABLES", str(home / "mounted"))
    at = start()
    at.selectbox(key="server_file").set_value(folder).run()
    at.button(key="use_file").click().run()
    assert "stays refers to several tables" in said(at)
    assert not at.error, "it is asked, not told off"
    w = at.session_state["wizard"]
    drawn = keys_of_tables.dot(w.plain)
    assert all(f'"{p}" -> "stays"' in drawn for p in ("patients", "wards"))
    at.selectbox(key="hint_root").set_value("patients").run()
    at.multiselect(key="hint_public").set_value(["wards"]).run()
    at.button(key="draft_again").click().run()
    result, problem = facts_of(at.session_state["wizard"], complete=False)
    assert result is not None, problem
    assert (result.root, list(result.tables), list(result.public)) == ("patients", ["patients", "stays"], ["wards"])
    assert "wards is public" in said(at)


@pytest.mark.slow
def test_what_waits_is_said_and_nothing_stored_is_lost(start, clinic):
    """A description that was saved is taken in again with the files; one that does not fit is refused in a line."""
    at = loaded(start(), clinic)
    w = at.session_state["wizard"]
    assert "First confirm the keys and their bounds" in said(at)
    w.left_out = ["stays.ward"]
    plain = json.dumps({k: v for k, v in w.plain.items() if k != "open"}).encode()
    other = start()
    uploader(other, "Table").set_value([(n, b, "text/csv") for n, b in clinic.items()])
    uploader(other, "Description").set_value(("d.json", plain, "application/json"))
    other.run()
    assert other.session_state["wizard"].plain["keys"] == w.plain["keys"]
    wrong = start()
    uploader(wrong, "Table").set_value([(n.replace("stays", "visits"), b, "text/csv") for n, b in clinic.items()])
    uploader(wrong, "Description").set_value(("d.json", plain, "application/json"))
    wrong.run()
    assert any("stays" in e.value for e in wrong.error)
    assert all(str(Path.home()) not in e.value for e in wrong.error)
    assert len(stored.stored_tables()) == 2, "the refused upload is gone"


def test_how_the_files_are_read_is_confirmed_by_itself_where_nothing_else_waits(start, clinic):
    """The page said to confirm columns, of which none waited, with a button that named none."""
    at = loaded(start(), clinic)
    confirmed(at)
    w = at.session_state["wizard"]
    w.plain["dataset"], w.plain["tables"]["patients"]["dialect"] = "clinic", {"delimiter": ";", "source": "unconfirmed"}
    assert "First confirm how the file is read" in said(at.run())
    assert "confirm_all" not in keys(at)
    at.button(key="read_right").click().run()
    assert "First confirm how the file is read" not in said(at)
    assert w.plain["tables"]["patients"]["dialect"] == {"delimiter": ";", "source": "declared"}


def test_names_of_tables_are_no_markdown(start, clinic):
    at = loaded(start(), clinic)
    w = at.session_state["wizard"]
    keys_now = [{**k, "child": "*a*_b"} for k in w.plain["keys"]]
    tables = {("*a*_b" if n == "stays" else n): t for n, t in w.plain["tables"].items()}

    def page(plain):
        import streamlit as st

        from app.table import keys

        st.session_state["wizard"].plain = plain
        keys._keys(st.session_state["wizard"])

    other = AppTest.from_function(page, kwargs={"plain": {**w.plain, "keys": keys_now, "tables": tables}})
    other.session_state["wizard"] = w
    other.run(timeout=60)
    assert not other.exception
    labels = [e.label for e in (*other.number_input, *other.selectbox)]
    assert labels == [r"Rows of \*a\*\_b kept", r"Order of \*a\*\_b"]


def _ruled(at, kind: str, one: str, other: str):
    """A rule across tables, filled in and added."""
    at.selectbox(key="across_kind").set_value(kind).run()
    at.selectbox(key=f"across_0_{kind}_one").set_value(one).run()
    at.selectbox(key=f"across_0_{kind}_other").set_value(other).run()
    return at.button(key="add_across").click().run()


def test_rules_across_tables_are_added_and_a_forecast_says_what_noise_covers(start, clinic):
    at = confirmed(loaded(start(), clinic))
    w = at.session_state["wizard"]
    _ruled(at, "equal", "stays.ward", "patients.sex")
    assert any("must have the same type" in e.value for e in at.error), "the library refuses it, in words"
    assert not w.plain.get("constraints")
    _ruled(at, "count", "patients.times", "stays")
    assert "patients.times is the number of rows of stays." in said(at)
    result, problem = facts_of(at.session_state["wizard"])
    assert result is not None, problem
    assert [r.kind for r in result.constraints] == ["count"]
    w = at.session_state["wizard"]
    w.left_out = ["patients.times"]
    assert facts_of(w)[0].constraints in (None, [], ()), "a rule about a column that is left out is left out too"
    w.left_out = []
    w.plain["dataset"], w.rows, w.epsilon = "clinic", 20, 0.1
    at.switch_page(view("privacy")).run()
    assert "noise covers it" in list(at.table[0].value["Error"])
    told = next(x.value for x in at.warning if "hardly any relation" in x.value)
    assert ("well" in told, "the errors above" in told) == (False, True), "they say that single columns are off too"
    assert not at.number_input(key="rows").set_value(2 * forecast.FEW).run().warning


def _households(*, own: bool) -> dict[str, bytes]:
    """Homes and persons that share a column; ``own``: whether persons have a number of their own besides."""
    homes = "idhogar,region\n" + "".join(f"h{i},{'NS'[i % 2]}\n" for i in range(60))
    number = "idpersona," if own else ""
    rows = [(f"{i}," if own else "") + f"h{i // 2},{20 + i % 40}\n" for i in range(120)]
    return {"viviendas.csv": homes.encode(), "personas.csv": (number + "idhogar,age\n" + "".join(rows)).encode()}


def test_tables_that_share_a_key_are_tied_by_it_without_a_word_of_syntax(start):
    """From two files to the page Budget: nothing is typed, and all that waits is confirmed at once."""
    at = loaded(start(), _households(own=True))
    assert "personas belongs to viviendas by idhogar" in said(at)
    assert "4 of 6 decided" in said(at)
    for open_point in ("[keys and their bounds](#keys)", "[who confirms it](#confirmed)"):
        assert open_point in said(at)
    assert at.text_input(key="dataset").value == "viviendas"
    assert "onward" not in keys(at)
    all_helped(at)
    confirmed(at)
    assert "All 6 points are decided" in said(at)
    assert at.session_state["wizard"].plain["keys"][0].get("source") != "unconfirmed"
    at.button(key="onward").click().run()
    assert at.title[0].value == "Privacy and accuracy"


@pytest.mark.parametrize("way", ["proposed", "chosen"])
def test_tables_of_which_names_do_not_tell_the_parent_are_joined_by_a_choice(start, way):
    homes = _households(own=False)
    homes["viviendas.csv"] = homes["viviendas.csv"].replace(b"idhogar,region", b"idhogar,idlugar")
    homes["personas.csv"] = homes["personas.csv"].replace(b"idhogar,age", b"idhogar,idalto")
    at = loaded(start(), homes)
    assert "Which rows belong to which?" in said(at)
    assert "First say which table each belongs to" in said(at)
    assert not at.error
    all_helped(at)
    labels = {b.label: b.key for b in at.button if b.key.startswith("join_")}
    assert set(labels) == {"personas belong to viviendas by idhogar", "viviendas belong to personas by idhogar"}
    if way == "proposed":
        at.button(key=labels["personas belong to viviendas by idhogar"]).click().run()
    else:
        at.selectbox(key="join_child").set_value("personas").run()
        at.button(key="join").click().run()
    result, problem = facts_of(at.session_state["wizard"], complete=False)
    assert result is not None, problem
    assert (result.root, result.keys[0].child) == ("viviendas", "personas")
    assert "personas belongs to viviendas by idhogar" in said(at)


def test_lists_of_all_tables_are_decided_in_one_place(start, clinic):
    """A long list in the second table is decided while the first is open; confirming leaves out what stands at it."""
    stays = pd.read_csv(io.BytesIO(clinic["stays.csv"]))
    stays["ward"] = [f"w{i % 311}" for i in range(len(stays))]
    at = loaded(start(), {**clinic, "stays.csv": stays.to_csv(index=False).encode()})
    assert at.session_state["wizard"].at in ("", "patients")
    assert "stays: 1 column cannot be confirmed together with the others" in said(at)
    assert "[lists that may tell of persons](#lists)" in said(at)
    confirmed(at)
    w = at.session_state["wizard"]
    assert w.plain["tables"]["stays"]["columns"]["ward"]["type"] == "omitted"
    assert "All 6 points are decided" in said(at)


def test_a_list_of_a_table_below_is_learnt_for_a_charge_of_its_own(start, clinic):
    """Once the keys are confirmed; the value that one patient has in all stays does not come out."""
    stays = pd.read_csv(io.BytesIO(clinic["stays.csv"]))
    stays["ward"] = [
        f"w{i % 3}" if p != stays["patient_id"][0] else "SENTINEL" for i, p in enumerate(stays["patient_id"])
    ]
    at = loaded(start(), {**clinic, "stays.csv": stays.to_csv(index=False).encode()})
    at.text_input(key="dataset").set_value("clinic").run()
    synth.Ledger().set_policy("clinic", max_epsilon=30.0)
    way = next(r for r in at.selectbox if r.key.startswith("way_") and r.key.endswith("stays_ward"))
    way.set_value("learn").run()
    chosen = next(m for m in at.multiselect if m.key.startswith("learn_columns_"))
    assert chosen.value == ["stays.ward"]
    assert at.button(key="learn").disabled, "nobody has confirmed the keys"
    assert "First confirm the keys and their bounds below" in said(at)
    confirmed(at)
    assert at.session_state["wizard"].plain["tables"]["stays"]["columns"]["ward"]["source"] == "unconfirmed"
    at.number_input(key="learn_epsilon").set_value(8.0).run()
    at.button(key="learn").click().run()
    learnt(at)
    assert "Learnt privately: stays.ward" in said(at), said(at)
    plain = at.session_state["wizard"].plain
    ward = plain["tables"]["stays"]["columns"]["ward"]
    assert (ward["source"], ward["categories"]) == ("private", ["w0", "w1", "w2"])
    assert plain["learnt"]["unit"] == "patients"
    assert "Learning them cost epsilon 8" in said(at)
    assert "All 6 points are decided" in said(at)
    assert synth.Ledger().summary("clinic")[0].epsilon == 8.0
