"""Census tasks: what folktables reads from the publisher's files becomes a table and a schema of public facts.

folktables itself runs. The files are small ones in the publisher's layout, where folktables keeps what it downloaded.
"""

import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.schema.census import TASKS, fetch

pytest.importorskip("folktables")

CODES = {  # name: (title, kind, {code: label}); None stands for "does not apply"
    "AGEP": ("Age", "N", {(0, 0): "Under 1 year", (1, 99): "1 to 99 years (Top-coded)"}),
    "COW": ("Class of worker", "C", {None: "N/A", **{i: f"Class {i}" for i in range(1, 10)}}),
    "SCHL": ("Educational attainment", "C", {None: "N/A", **{i: f"Grade {i}" for i in range(1, 25)}}),
    "MAR": ("Marital status", "C", {i: f"Status {i}" for i in range(1, 6)}),
    "OCCP": ("Occupation recode", "C", {None: "N/A", 10: "MGR-Chief Executives", 20: "MGR-General", 4020: "EAT-Cooks"}),
    "POBP": ("Place of birth", "C", {1: "Alabama/AL", 6: "California/CA", 303: "Mexico"}),
    "RELP": ("Relationship", "C", {i: f"Relation {i}" for i in range(18)}),
    "WKHP": ("Usual hours worked per week", "N", {None: "N/A", (1, 98): "1 to 98", (99, 99): "99 or more"}),
    "SEX": ("Sex", "C", {1: "Male", 2: "Female"}),
    "RAC1P": ("Recoded detailed race code", "C", {i: f"Race {i}" for i in range(1, 10)}),
    "PINCP": ("Total person's income", "N", {None: "N/A", (-19998, 4209995): "Income"}),
    "PWGTP": ("Weight", "N", {(1, 9999): "Weight"}),
    "ESR": ("Employment status recode", "C", {None: "N/A", **{i: f"Employed {i}" for i in range(1, 7)}}),
    "JWMNP": ("Travel time to work", "N", {None: "N/A", (1, 200): "Minutes"}),
    "POVPIP": ("Income-to-poverty ratio", "N", {None: "N/A", (0, 500): "Percent", (501, 501): "501 or more"}),
    "ST": ("State Code", "C", {8: "Colorado/CO"}),
    "PUBCOV": ("Public health coverage", "C", {1: "With", 2: "Without"}),
    **{
        n: (n, "C", {None: "N/A", **{i: f"{n} {i}" for i in range(1, 10)}})
        for n in ("DIS", "ESP", "CIT", "MIG", "MIL", "ANC", "NATIVITY", "DEAR", "DEYE", "DREM", "FER", "GCL", "JWTR")
    },
}
AREAS = ("PUMA", "POWPUMA")
PRINTED = {  # columns, and numeric ones, as arXiv 2410.19941, Table 2, has them; but of Mobility's it counts two
    "acs-income": (10, 2),
    "acs-public-coverage": (19, 2),
    "acs-mobility": (21, 4),
    "acs-employment": (16, 1),
    "acs-travel-time": (16, 2),
}


def write(folder, year=2018, rows=400):
    """The publisher's person file of Colorado and its code book, small; every third row lacks what can be lacking."""
    rng = np.random.default_rng(0)
    place = folder / str(year) / "1-Year"
    place.mkdir(parents=True)
    lines, columns = [], {}
    for name, (title, kind, codes) in CODES.items():
        lines.append(f'NAME,{name},{kind},2,"{title}",,')
        for code, label in codes.items():
            low, high = (
                (("b", "b") if kind == "C" else (".", "."))
                if code is None
                else (code if isinstance(code, tuple) else (f"{code:04d}",) * 2)
            )
            lines.append(f'VAL,{name},{kind},2,{low},{high},"{label}"')
        known = [c for c in codes if c is not None]
        drawn = [
            rng.integers(c[0], min(c[1], 90_000) + 1) if isinstance(c, tuple) else c
            for c in (known[i] for i in rng.integers(0, len(known), rows))
        ]
        lacking = (np.arange(rows) % 3 == 0) & (None in codes) & (name not in ("WKHP", "PINCP", "ESR"))
        columns[name] = ["" if gone else f"{v:03d}" for v, gone in zip(drawn, lacking, strict=True)]
    columns |= {n: [f"{v:05d}" for v in rng.choice([100, 803, 4106], rows)] for n in AREAS}
    frame = pd.DataFrame({"RT": "P", "SERIALNO": [f"2018HU{i:07d}" for i in range(rows)], **columns})
    frame.to_csv(place / "psam_p08.csv", index=False)
    (place / "definition.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return write(tmp_path_factory.mktemp("cache"))


@pytest.mark.parametrize("task", TASKS)
def test_every_task_gives_a_table_and_a_schema_that_fit(task, cache):
    """Each cell is a value of the schema, and the target is folktables' own."""
    import folktables

    result = fetch(task, state="CO", year=2018, cache=cache)
    problem = getattr(folktables, TASKS[task])
    assert list(result.table.columns) == [*problem.features, problem.target]
    source = folktables.ACSDataSource(survey_year=2018, horizon="1-Year", survey="person", root_dir=str(cache))
    features, target, _ = problem.df_to_numpy(source.get_data(states=["CO"]))
    assert (result.table[problem.target] == np.where(target, "1", "0")).all()
    assert len(features) == len(result.table) > 20
    for name, column in result.schema.columns.items():
        cells = result.table[name]
        assert column.source == "public"
        assert column.nullable or (cells != "").all(), name
        if column.type == "integer":
            assert pd.to_numeric(cells[cells != ""]).between(column.min, column.max).all()
        else:
            assert set(cells[cells != ""]) <= set(column.categories), name
    assert result.schema.target == problem.target
    assert result.schema.unconfirmed() == {}
    numeric = sum(result.schema.columns[n].type == "integer" for n in problem.features)
    assert (len(problem.features), numeric) == PRINTED[task]


def test_facts_are_the_code_books(cache):
    """Bounds and categories go as far as the book does, not as far as the rows; labels come along."""
    columns = fetch("acs-income", state="CO", year=2018, cache=cache).schema.columns
    assert (columns["AGEP"].min, columns["AGEP"].max) == (0, 99)
    assert (columns["WKHP"].min, columns["WKHP"].max) == (1, 99)
    assert columns["OCCP"].categories == ("10", "20", "4020")
    assert columns["OCCP"].labels == ("MGR-Chief Executives", "MGR-General", "EAT-Cooks")
    assert columns["SEX"].labels == ("Male", "Female")
    assert columns["SEX"].description == "Sex"
    assert columns["COW"].nullable
    assert not columns["MAR"].nullable


def test_what_does_not_apply_is_an_empty_cell_and_not_a_zero(cache):
    table = fetch("acs-income", state="CO", year=2018, cache=cache).table
    assert 0.2 < (table["OCCP"] == "").mean() < 0.5
    assert "0" not in set(table["OCCP"])


def test_the_command_writes_files_that_a_run_takes(command, cache, tmp_path):
    out = tmp_path / "census"
    stdout, _ = command.done("fetch", "acs-income", "--state", "co", "--out", out, "--cache", cache, "--json")
    answer = json.loads(stdout)
    assert answer["rows"] > 20
    paths = answer["paths"]
    command.done(
        f"run {paths['table']} --schema {paths['schema']} --epsilon 1 --out {tmp_path}/r --method "
        "independent --num-rows 20"
    )
    assert synth.Schema.load(paths["schema"]).dataset == "acs-income-CO-2018"


def test_without_network_one_line_says_what_is_needed(command, tmp_path, monkeypatch):
    """Nothing listens at that proxy, as on a computer without a way out."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    code, stdout, error = command("fetch", "acs-income", "--state", "CA", "--year", 2018, "--out", tmp_path / "census")
    assert code == InputError.exit_code
    assert stdout == ""
    assert len(error.strip().splitlines()) == 1
    assert "census.gov" in error
    assert "Traceback" not in error


@pytest.fixture(scope="module")
def bureau(cache, tmp_path_factory):
    """The same files under the names under which the Bureau publishes them, in one flat folder."""
    folder, retained = tmp_path_factory.mktemp("bureau"), cache / "2018" / "1-Year"
    with zipfile.ZipFile(folder / "csv_pco.zip", "w") as archive:
        archive.write(retained / "psam_p08.csv", "psam_p08.csv")
        archive.writestr("ACS2018_PUMS_README.pdf", "nothing")
    (folder / "PUMS_Data_Dictionary_2018.csv").write_bytes((retained / "definition.csv").read_bytes())
    return folder


@pytest.mark.parametrize("task", TASKS)
def test_the_bureaus_files_in_a_folder_are_enough(task, bureau, cache, tmp_path, monkeypatch):
    """Every task, with no way out: the table and schema are those of folktables' own cache."""
    monkeypatch.setattr("requests.get", lambda *_a, **_k: pytest.fail("something was fetched"))
    result = fetch(task, state="CO", year=2018, cache=tmp_path / "cache", folder=bureau)
    known = fetch(task, state="CO", year=2018, cache=cache)
    assert result.table.equals(known.table)
    assert result.schema == known.schema


def test_the_command_takes_a_folder(command, bureau, tmp_path):
    stdout, _ = command.done("fetch", "acs-income", "--state", "CO", "--from", bureau, "--out", tmp_path, "--json")
    assert json.loads(stdout)["rows"] > 20


def test_what_a_folder_lacks_is_named(bureau, tmp_path):
    """No folder, no persons, no code book, the persons of another year, an archive that is none."""
    more = {"state": "CO", "year": 2018, "cache": tmp_path / "cache"}
    with pytest.raises(UsageError, match="is no folder"):
        fetch("acs-income", folder=tmp_path / "none", **more)
    (folder := tmp_path / "few").mkdir()
    with pytest.raises(InputError, match=r"neither csv_pco\.zip nor psam_p08\.csv"):
        fetch("acs-income", folder=folder, **more)
    (folder / "csv_pco.zip").write_bytes(b"none")
    with pytest.raises(InputError, match="BadZipFile"):
        fetch("acs-income", folder=folder, **more)
    (folder / "csv_pco.zip").write_bytes((bureau / "csv_pco.zip").read_bytes())
    with pytest.raises(InputError, match="PUMS_Data_Dictionary_2018"):
        fetch("acs-income", folder=folder, **more)
    (folder / "PUMS_Data_Dictionary_2017.csv").write_text("NAME,AGEP")
    with pytest.raises(InputError, match="not of 2017"):
        fetch("acs-income", folder=folder, **(more | {"year": 2017}))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"task": "acs-wealth"}, "choose one of"), ({"state": "XX"}, "two letters"), ({"year": 2015}, "begin with 2017")],
)
def test_what_is_not_there_is_refused_by_name(change, message, cache):
    given = {"task": "acs-income", "state": "CO", "year": 2018} | change
    with pytest.raises(UsageError, match=message):
        fetch(given.pop("task"), cache=cache, **given)


def test_a_year_whose_columns_were_renamed_says_so(tmp_path):
    cache = write(tmp_path, year=2021)
    path = cache / "2021" / "1-Year" / "psam_p08.csv"
    frame = pd.read_csv(path, dtype=str).rename(columns={"RELP": "RELSHIPP"})
    frame.to_csv(path, index=False)
    with pytest.raises(InputError, match="no column RELP"):
        fetch("acs-income", state="CO", year=2021, cache=cache)


def test_without_folktables_the_way_out_is_told(monkeypatch, cache):
    monkeypatch.setitem(sys.modules, "folktables", None)
    with pytest.raises(UsageError, match="EXTRAS=fetch"):
        fetch("acs-income", state="CO", year=2018, cache=cache)
