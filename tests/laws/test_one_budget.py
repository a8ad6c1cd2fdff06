"""One table has one budget, whatever it is called and wherever it lies: spellings, links, copies, databases."""

import gzip
import json
import os
import shutil

import duckdb
import pytest

from synth.errors import UsageError
from synth.pipeline.private_rows import check_known, dataset_name
from synth.privacy.ledger import copies
from synth.privacy.ledger.ledger import Ledger
from synth.privacy.ledger.server import Server
from synth.sources.engines.engine import Engine
from synth.sources.named_databases import placed
from tests.conftest import SMALL, small_frame

ASKED = (
    "--schema",
    "s.json",
    "--epsilon",
    "0.4",
    "--method",
    "independent",
    "--num-rows",
    "5",
    "--out",
    "out",
    "--replace",
)
NAMES = ["town", "TOWN", "\uff34\uff2f\uff37\uff2e", "town ", " town"]
NAMES += ["to\u200bwn", "t\u043ewn", "other", "town.csv", "to\0wn"]
FILES = ["town.csv", "./town.csv", "a/../town.csv", "a/link.csv"]
FILES += ["a/hard.csv", "copy.csv", "copy.csv.gz", "copy.parquet"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A table under many names, charged once beneath a cap that has no room for a second run."""
    monkeypatch.chdir(tmp_path)
    frame = small_frame(400)
    frame.to_csv("town.csv", index=False)
    os.mkdir("a")
    os.symlink("../town.csv", "a/link.csv")
    os.link("town.csv", "a/hard.csv")
    shutil.copy("town.csv", "copy.csv")
    with gzip.open("copy.csv.gz", "wb") as file:
        file.write((tmp_path / "town.csv").read_bytes())
    frame.to_parquet("copy.parquet")
    (tmp_path / "s.json").write_text(json.dumps(SMALL))
    with duckdb.connect("d.duckdb") as db:
        db.register("given", frame)
        db.execute("CREATE TABLE people AS SELECT * FROM given")
        db.execute("CREATE VIEW seen AS SELECT * FROM people")
    return tmp_path


def spends():
    return [(e.dataset, e.epsilon) for e in Ledger().entries() if e.kind == "spend"]


def refused(command, *named):
    code, said, stderr = command("run", *named, *ASKED)
    assert (code in (2, 4), said, "Traceback" in stderr) == (True, "", False), (named, stderr)


def test_no_other_name_of_a_file_passes_its_cap(command, place):
    assert command("ledger", "policy", "town.csv", "--max-epsilon", 0.5, "--new")[0] == 0
    assert command("run", "town.csv", *ASKED)[0] == 0
    for name in NAMES:
        refused(command, "town.csv", "--dataset", name)
    for file in FILES:
        refused(command, file)
    pytest.importorskip("ibis")
    for table in ("people", "main.people", "seen"):
        refused(command, "--source", f"duckdb:///{place}/d.duckdb", "--table", table)
    assert spends() == [("town", 0.4)]


def test_no_other_spelling_of_a_databases_table_passes_its_cap(command, place):
    pytest.importorskip("ibis")
    at = f"duckdb:///{place}/d.duckdb"
    name = f"{at}/people"
    assert command("ledger", "policy", "--dataset", name, "--max-epsilon", 0.5, "--new")[0] == 0
    assert command("run", "--source", at, "--table", "people", *ASKED)[0] == 0
    for table in ("main.people", '"people"', "PEOPLE", "people --", "seen"):
        refused(command, "--source", at, "--table", table)
    for source in (
        at.replace("duckdb:", "DUCKDB:"),
        f"{at}?x=1",
        f"duckdb:///{place}//d.duckdb",
        f"duckdb:///{place}/a/../d.duckdb",
    ):
        refused(command, "--source", source, "--table", "people")
    for file in FILES:
        refused(command, file)
    assert spends() == [(name, 0.4)]


def named(source: str, table: str = "people") -> str:
    return dataset_name(placed(source, table), None)


def test_one_place_has_one_name_however_its_address_is_written(tmp_path, monkeypatch):
    """Spellings by kind of source; the other addresses are other places."""
    monkeypatch.setenv("PGUSER", "ann")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/x.db").touch()
    (tmp_path / "link.db").symlink_to("a/x.db")
    (tmp_path / "b").symlink_to("a")
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    paths = [f"{here}/a/x.db", f"/{here}/a/x.db", f"{here}//a/../a/./x.db", f"{here}/link.db", f"{here}/b/x.db"]
    spellings = [
        [f"duckdb://{p}" for p in [*paths, here.replace("s", "%73") + "/a/x.db"]],
        [f"sqlite://{p}" for p in [*paths, here.replace("s", "%73") + "/a/x.db"]],
        [
            f"{scheme}://{user}{host}{port}/census{options}"
            for scheme in ("postgres", "postgresql", "POSTGRES")
            for user in ("", "bob@", "bob:secret@")
            for host in ("localhost", "LocalHost", "127.0.0.1", "127.0.1", "127.1", "[::1]", "localhost.", "")
            for port in ("", ":5432")
            for options in ("", "?sslmode=require", "?application_name=x&sslmode=disable")
        ]
        + ["postgres:///census?host=/var/run/postgresql", "postgres:///?dbname=census&host=127.0.0.1&port=5432"]
        + ["postgres://any.example/census?hostaddr=127.0.0.1"],
        ["postgres://Db.Example:5433/census", "postgresql://ann@db.example.:5433/census"],
        [
            "postgres://localhost/ann",
            "postgres://localhost",
            "postgres://bob@localhost/ann",
            "postgres://ann@127.0.0.1/",
        ],
    ]
    names = [{named(s) for s in one} for one in spellings]
    assert [len(n) for n in names] == [1] * len(spellings), names
    assert len(set.union(*names)) == len(spellings)
    for one in (("duckdb", "main."), ("sqlite", "main.")):
        assert named(f"{one[0]}://{paths[0]}", f"{one[1]}people") in set.union(*names)
    assert named("postgres://localhost/census", "public.people") in names[2]
    assert not any(word in name for name in set.union(*names) for word in ("secret", "bob"))


def test_a_table_has_its_budget_at_every_spelling_of_its_file(command, place):
    """Also where rows are too many to be compared: what is charged is the place."""
    pytest.importorskip("ibis")
    os.symlink("d.duckdb", "link.duckdb")
    os.link("d.duckdb", "hard.duckdb")
    first = f"duckdb:///{place}/d.duckdb"
    assert command("run", "--source", first, "--table", "people", *ASKED)[0] == 0
    (charged,) = {name for name, _ in spends()}
    for address in (f"duckdb:////{place}/d.duckdb", f"duckdb://{place}/a/../d.duckdb", f"duckdb://{place}/link.duckdb"):
        assert command("plan", "--source", address, "--table", "people", *ASKED[:6], "--json")[0] in (0, 2)
        assert dataset_name(placed(address, "people"), None, book=Ledger()) == charged
    assert dataset_name(placed(f"duckdb://{place}/hard.duckdb", "main.people"), None, book=Ledger()) == charged


def test_a_table_of_a_database_that_was_never_charged_asks_for_its_dataset(command, place):
    """A view, a copy or another server may hold the same persons, and long tables are not compared."""
    pytest.importorskip("ibis")
    source = f"duckdb://{place}/d.duckdb"
    assert command("run", "town.csv", *ASKED)[0] == 0
    code, _, stderr = command("run", "--source", source, "--table", "people", *ASKED)
    assert (code, "and other datasets were" in stderr) == (2, True)
    assert spends() == [("town", 0.4)]


def test_a_cap_that_nothing_was_charged_to_yet_is_asked_for_too(command, place):
    """A steward's cap comes before the first charge: another address of the table must not be free of it."""
    pytest.importorskip("ibis")
    assert command("ledger", "policy", "--dataset", "town", "--max-epsilon", 0.1, "--new")[0] == 0
    for source in (f"duckdb://{place}/d.duckdb", f"sqlite://{place}/none.db"):
        code, _, stderr = command("run", "--source", source, "--table", "people", *ASKED)
        assert (code, "have a cap" in stderr, "--dataset" in stderr) == (2, True, True), stderr
    assert spends() == []


def test_related_tables_of_a_database_ask_for_their_dataset_too(tmp_path):
    """Charged or capped elsewhere, the same persons may lie behind an address that the ledger does not know."""
    book = Ledger(tmp_path / "l.sqlite")
    check_known("duckdb:///a.duckdb", book)
    book.set_policy("town", max_epsilon=0.1)
    with pytest.raises(UsageError, match="have a cap: if its persons"):
        check_known("duckdb:///a.duckdb", book)
    check_known("town", book)


SIGNS = ("\u00a0", "\u200b", '"', "'", "\u201c", "\t", "\u00ad", " \u2003")


@pytest.mark.parametrize(
    "given", ["postgresql://db.example/census", "postgres://ann@db.example/census?sslmode=require"]
)
def test_an_address_of_a_ledger_is_never_the_name_of_a_new_file(given, tmp_path, monkeypatch):
    """However it is typed: with capitals, quotes, signs that are not seen; others with :// are refused."""
    monkeypatch.chdir(tmp_path)
    full = given.replace("://", "\uff1a\uff0f\uff0f")
    typed = [given, given.title(), given.upper(), full, *(s + given for s in SIGNS), *(f"{s}{given}{s}" for s in SIGNS)]
    for spelling in typed:
        assert isinstance(copies.at(spelling), Server), ascii(spelling)
        monkeypatch.setenv("SYNTH_LEDGER", spelling)
        assert isinstance(copies.at(), Server), ascii(spelling)
    for other in ("MySQL://db/census", "postgresqll://db/x", ' "https://db', "./http://x", "a b://c", "POSTGRES:db"):
        with pytest.raises(UsageError, match="ledger: "):
            copies.at(other).connect()
    for other in (f'"{given}"', given.upper(), f"\u00a0{given}"):
        assert Engine(other).identity.lower() == Engine(given).identity
