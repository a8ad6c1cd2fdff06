"""Files of Stata, SPSS and SAS: labels to categories and back, marks of what is synthetic, faults before the spend."""

import datetime as dt
import json
import shutil
import subprocess

import openpyxl
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

import synth
from synth.errors import EmptyTableError, InputError, UsageError
from synth.sources.formats import files, labelled
from synth.sources.table_source import place_of

WRITE = {"dta": pyreadstat.write_dta, "sav": pyreadstat.write_sav, "xpt": pyreadstat.write_xport}
READ = {"dta": pyreadstat.read_dta, "sav": pyreadstat.read_sav, "xpt": pyreadstat.read_xport}
SEX = {1: "male", 2: "female", 9: "not told"}
FRAME = pd.DataFrame(
    {
        "sex": [1.0, 2.0, 2.0, None] * 30,
        "age": [float(20 + i % 60) for i in range(120)],
        "job": ["cook", "nurse", "cook", "smith"] * 30,
        "seen": [dt.date(2020, 1, 1 + i % 28) for i in range(120)],
    }
)


@pytest.fixture(scope="module", params=WRITE)
def made(request, tmp_path_factory):
    """(ending, folder) with a labelled table, its schema as drafted and confirmed, and a release of it."""
    ending, place = request.param, tmp_path_factory.mktemp(request.param)
    shown = {} if ending == "xpt" else {"variable_value_labels": {"sex": SEX}}
    WRITE[ending](FRAME, place / f"t.{ending}", **shown)
    text = synth.draft(place / f"t.{ending}").schema.to_json().replace("unconfirmed", "declared")
    schema = synth.Schema.parse(json.loads(text))
    asked = {"epsilon": 10, "delta": 1e-5, "method": "independent", "dataset": ending, "seed": 1}
    synth.run(
        place / f"t.{ending}", schema=schema, out=place / "out", ledger=place / "ledger.sqlite", num_rows=60, **asked
    )
    return ending, place


def test_labels_become_categories_and_come_back_with_a_mark(made, command):
    ending, place = made
    schema = synth.Schema.load(place / "out" / "schema.json")
    if ending == "xpt":  # it has no labels: numbers, until somebody brings a code book
        assert schema.columns["sex"].type == "integer"
    else:
        assert schema.columns["sex"].categories == ("1", "2", "9")
        assert schema.columns["sex"].labels == tuple(SEX.values())
    assert schema.columns["seen"].type == "datetime"
    command.done("sample", place / "out", "--released", "--mark", "--out", place / f"synthetic.{ending}")
    frame, about = READ[ending](place / f"synthetic.{ending}")
    assert about.file_label == files.MARK
    assert "sex" in about.variable_value_labels or ending == "xpt"
    assert set(frame["synthetic"]) == {"yes"}
    csv = pd.read_csv(place / "out" / "synthetic.csv")
    assert frame["sex"].fillna(-1).tolist() == csv["sex"].fillna(-1).tolist()
    assert frame["job"].tolist() == csv["job"].tolist()
    assert [d.isoformat() for d in frame["seen"]] == csv["seen"].tolist()
    back = place_of(place / f"synthetic.{ending}").under(schema).read(["sex", "seen"])
    assert set(back.column("seen").values) == set(csv["seen"])


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (Debian's r-base-core)")
def test_r_reads_what_is_written(made, command):
    ending, place = made
    command.done("sample", place / "out", "--released", "--out", place / f"r.{ending}")
    script = (
        f't <- haven::read_{ending}("{place}/r.{ending}"); cat(nrow(t), mean(t$age), class(t$seen)[1], '
        f'attr(t, "label"), names(attr(t$sex, "labels")), sep = "\\n")'
    )
    done = subprocess.run(["Rscript", "--vanilla", "-e", script], capture_output=True, text=True)
    if "there is no package called" in done.stderr:
        pytest.skip("haven is not installed (Debian's r-cran-haven)")
    rows, age, seen, label, *names = done.stdout.splitlines()
    csv = pd.read_csv(place / "out" / "synthetic.csv")
    assert (int(rows), float(age), seen) == (60, pytest.approx(csv["age"].mean()), "Date")
    assert [label, *names] == ([files.MARK, *SEX.values()] if ending != "xpt" else [files.MARK]), done.stdout


def test_what_columns_are_called_is_kept_and_a_code_declared_missing_is_no_category(command, tmp_path):
    coded = FRAME.assign(sex=[1.0, 2.0, 2.0, 9.0] * 30)
    told, declared = {"sex": "Sex, as told", "age": "Größe " * 20}, {"sex": [9], "job": ["smith"]}
    shown = {"variable_value_labels": {"sex": SEX}, "missing_ranges": declared}
    pyreadstat.write_sav(coded, tmp_path / "t.sav", column_labels=told, **shown)
    drafted = synth.draft(tmp_path / "t.sav").schema
    assert (drafted.columns["sex"].categories, drafted.columns["sex"].nullable) == (("1", "2"), True)
    assert (drafted.columns["job"].categories, drafted.columns["job"].nullable) == (("cook", "nurse"), True)
    assert {n: c.description for n, c in drafted.columns.items() if c.description} == {
        n: t.strip() for n, t in told.items()
    }
    schema = synth.Schema.parse(json.loads(drafted.to_json().replace("unconfirmed", "declared")))
    asked = {"epsilon": 10, "delta": 1e-5, "method": "independent", "dataset": "t", "seed": 1}
    synth.run(tmp_path / "t.sav", schema=schema, out=tmp_path / "out", ledger=tmp_path / "l.sqlite", **asked)
    for ending in WRITE:
        command.done("sample", tmp_path / "out", "--num-rows", 9, "--out", tmp_path / f"s.{ending}")
        names = READ[ending](tmp_path / f"s.{ending}")[1].column_names_to_labels
        assert names["sex"] == told["sex"]
        assert names["age"].startswith("Größe Größe")


def test_workbooks_and_parquet_say_that_they_are_synthetic(made, command):
    _, place = made
    for name in ("s.xlsx", "s.parquet"):
        command.done("sample", place / "out", "--num-rows", 5, "--out", place / name)
    assert openpyxl.load_workbook(place / "s.xlsx").sheetnames == ["synthetic"]
    assert pq.read_metadata(place / "s.parquet").metadata[b"synthetic"] == files.MARK.encode()
    code, _, said = command("sample", place / "out", "--mark", "--out", place / "folder")
    assert (code, "--mark" in said) == (2, True)
    (place / "out" / "synthetic.csv").rename(place / "away.csv")
    assert command("sample", place / "out", "--released", "--out", place / "s.xlsx")[0] == 2
    (place / "away.csv").rename(place / "out" / "synthetic.csv")


@pytest.mark.parametrize("ending", WRITE)
def test_rows_are_the_same_however_many_are_read_at_a_time(ending, tmp_path, monkeypatch):
    WRITE[ending](FRAME, tmp_path / f"t.{ending}")
    whole = files.read(tmp_path / f"t.{ending}")
    for cells in (1, 28, 160, 480):
        monkeypatch.setattr(labelled, "CELLS", cells)
        part = files.read(tmp_path / f"t.{ending}")
        for name in whole.names:
            one, other = (t.column(name).values[t.column(name).codes].tolist() for t in (part, whole))
            assert one == other


@pytest.mark.parametrize("version", [5, 8])
@pytest.mark.parametrize("cells", [2, 1 << 22])
def test_a_blank_row_of_sas_is_none_wherever_it_stands(version, cells, tmp_path, monkeypatch):
    """Else a row that is written after such rows would bring them back: one person would be several rows."""
    monkeypatch.setattr(labelled, "CELLS", cells)
    seen = []
    for i, rows in enumerate((["", "a", "", "", "b"], ["", "a", "", "", "b", "", ""], ["a", "b"])):
        frame = pd.DataFrame({"t": rows, "u": rows})
        pyreadstat.write_xport(frame, tmp_path / f"{i}.xpt", file_format_version=version)
        seen.append(files.read(tmp_path / f"{i}.xpt").cells("t").to_pylist())
    assert seen == [["a", "b"]] * 3


def _damaged(ending, place):
    """Files whose header is at fault, by name."""
    WRITE[ending](FRAME.drop(columns="seen"), place / "whole")
    whole = (place / "whole").read_bytes()
    WRITE[ending](FRAME.head(0), place / "empty")
    results = {"cut": whole[:150], "another": b"a,b\n1,2\n" * 200, "none": b"", "rows": (place / "empty").read_bytes()}
    if ending == "dta":
        pyreadstat.write_dta(pd.DataFrame({"x": [1.0], "X": [2.0]}), place / "twins")
        results |= {"twins": (place / "twins").read_bytes(), "name": whole.replace(b"job\0", b"j\xffb\0")}
    if ending != "xpt":  # which says nowhere how many rows there are
        results["cut late"] = whole[: len(whole) * 3 // 4]
    if ending == "xpt":
        results["two"] = whole + whole[240:]
    return results


@pytest.mark.parametrize("ending", WRITE)
def test_a_fault_of_the_header_is_refused_in_one_line(ending, tmp_path):
    for name, content in _damaged(ending, tmp_path).items():
        path = tmp_path / f"{name}.{ending}"
        path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            files.check_form(path)
        assert "Traceback" not in str(refused.value)
        assert "cook" not in str(refused.value)
        assert isinstance(refused.value, EmptyTableError) == (name == "rows"), name


@pytest.mark.parametrize("ending", WRITE)
def test_what_such_a_file_has_no_room_for_is_said(ending, tmp_path):
    for columns in ({"my column": [1]}, {"x" * 80: [1]}, {"n": [2**60]}):
        with pytest.raises(UsageError, match=r"write \.csv"):
            files.write(tmp_path / f"t.{ending}", columns)
    assert not list(tmp_path.iterdir())


def test_without_the_extra_it_is_named(tmp_path, monkeypatch):
    pyreadstat.write_sav(FRAME, tmp_path / "t.sav")
    monkeypatch.setattr(synth.errors, "find_spec", lambda _: None)
    with pytest.raises(UsageError, match="labelled"):
        files.header(tmp_path / "t.sav")
