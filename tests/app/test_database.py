"""A table in a database goes through the application, stays there, and its synthetic twin may go back."""

import json

import duckdb
import pytest

import synth
from app.session import access
from app.session.state import view
from app.table import stored
from synth import jobs
from tests.app.elements import FILE, charged, ended, keys, said

pytestmark = pytest.mark.xdist_group("app")


@pytest.fixture
def club(home, monkeypatch):
    """A DuckDB file with a table of 240 people, offered under a name."""
    place = home / "people.duckdb"
    with duckdb.connect(str(place)) as con:
        con.execute(
            "CREATE TABLE club AS SELECT 20 + i % 60 AS age, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS team "
            "FROM range(240) AS t(i)"
        )
    listed = home / "sources.toml"
    listed.write_text(f'[town]\naddress = "duckdb://{place}"\nmay_write = true\npeople = ["ann@example.org"]\n')
    monkeypatch.setenv("SYNTH_SOURCES", str(listed))
    return place


def taken(at):
    """The page Describe with the database's table."""
    at.selectbox(key="source").set_value(synth.app_api.databases.databases()[0]).run()
    at.button(key="list_tables").click().run()
    at.selectbox(key="source_table").set_value("club").run()
    return at.button(key="use_table").click().run()


def test_a_table_goes_from_a_database_and_its_twin_back(start, club):
    at = taken(start())
    assert at.title[0].value == "The table"
    assert list(at.data_editor[0].value["column"]) == ["age", "team"]
    charged(at, rows=240)
    ended(at)
    job = jobs.Job(at.session_state["wizard"].job)
    assert job.status().state == "done", job.status().message
    assert synth.Ledger().summary("club")[0].epsilon == 1.0
    at.switch_page(view("result")).run()
    at.button(key="compare").click().run()
    assert not at.error
    assert "SDMetrics" in said(at)
    assert not list(stored.folder().glob("copy-*")), "the copy for the comparison is gone"
    at.switch_page(view("result")).run()
    at.number_input(key="out_rows").set_value(77).run()
    at.button(key="out_write").click().run()
    assert "77 synthetic rows are in" in said(at)
    with duckdb.connect(str(club)) as con:
        assert con.execute("SELECT count(*), min(age) >= 0 FROM club_synthetic").fetchone() == (77, True)
    at.button(key="out_write").click().run()
    assert "exists already" in at.error[0].value


def test_a_password_in_an_address_is_refused_and_kept_nowhere(start, home):
    at = start()
    at.text_input(key="source_typed").set_value("postgres://ann:hush@db.example/census").run()
    assert "password" in at.error[0].value
    assert "hush" not in said(at)
    assert not any("hush" in f.read_text(errors="replace") for f in home.rglob("*") if f.is_file())


@pytest.mark.usefixtures("club")
def test_in_a_shared_installation_a_database_is_open_to_those_named(start, home, monkeypatch):
    roles = home / "roles.toml"
    roles.write_text(FILE)
    monkeypatch.setenv("SYNTH_ROLES", str(roles))
    for person, seen in (("ann@example.org", True), ("eve@example.org", False)):
        monkeypatch.setattr(access, "signed_in", lambda person=person: person)
        at = start()
        assert ("list_tables" in keys(at)) == seen
        assert "source_typed" not in [t.key for t in at.text_input], "nobody types addresses in a shared installation"


def test_a_folder_of_parquet_files_is_one_table(start, club, home, monkeypatch):
    parts = home / "mount" / "parts"
    parts.mkdir(parents=True)
    for i in range(2):
        synth.app_api.databases.fetch(f"duckdb://{club}", "club", parts / f"{i}.parquet", columns=["age", "team"])
    monkeypatch.setenv("SYNTH_TABLES", str(home / "mount"))
    at = start()
    assert [p.name for p in stored.mounted()] == ["parts", "0.parquet", "1.parquet"]
    at.selectbox(key="server_file").set_value(parts).run()
    at.button(key="use_file").click().run()
    assert at.title[0].value == "The table"
    assert json.loads(next(stored.folder().glob("*/wizard.json")).read_text())["label"] == "parts"


@pytest.fixture
def clinic(club):
    """Patients and their stays beside the club, which is put away: related tables whose key the database declares."""
    with duckdb.connect(str(club)) as con:
        con.execute("DROP TABLE club")
        con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, sex VARCHAR)")
        con.execute("CREATE TABLE stays (pid INTEGER REFERENCES patients (pid), ward VARCHAR)")
        con.execute("INSERT INTO patients SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END FROM range(300) AS t(i)")
        con.execute(
            "INSERT INTO stays SELECT i % 300, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END FROM range(600) AS t(i)"
        )
    return club


@pytest.mark.usefixtures("clinic")
def test_related_tables_of_a_database_go_to_a_release_and_are_compared(start):
    at = start()
    at.selectbox(key="source").set_value(synth.app_api.databases.databases()[0]).run()
    at.button(key="list_tables").click().run()
    at.button(key="use_tables").click().run()
    assert at.title[0].value == "The table"
    assert "stays belongs to patients by pid" in said(at)
    next(n for n in at.number_input if n.key.startswith("most_")).set_value(3).run()
    at.text_input(key="dataset").set_value("clinic").run()
    at.button(key="confirm_all").click().run()
    at.button(key="onward").click().run()
    at.button(key="rows_of_file").click().run()
    assert at.session_state["wizard"].rows == 300
    at.selectbox(key="method").set_value("independent").run()
    at.button(key="spend").click().run()
    ended(at)
    job = jobs.Job(at.session_state["wizard"].job)
    assert job.status().state == "done", job.status().message
    assert set(job.result()["num_rows"]) == {"patients", "stays"}
    assert job.request()["method"] == "independent"
    assert synth.Ledger().summary("clinic")[0].epsilon == 1.0
    at.switch_page(view("result")).run()
    at.button(key="compare").click().run()
    assert not at.error
    assert "Across tables" in [s.value for s in at.subheader]
    assert not list(stored.folder().glob("*/copies")), "the copies for the comparison are gone"
    assert "hush" not in said(at)
