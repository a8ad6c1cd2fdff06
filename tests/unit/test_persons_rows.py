"""One table in which persons repeat, from a file to a release: one table again, in which persons keep their rows."""

import json

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline import sample
from synth.privacy.ledger.ledger import Ledger
from synth.release import folder
from synth.release.leaving import broken
from synth.report import publish
from synth.sources.formats import files

pytestmark = pytest.mark.usefixtures("few_steps")
COLUMNS = {
    "day": {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31"},
    "pid": {"type": "identifier", "pattern": "P[0-9]{5}"},
    "stay": {"type": "identifier"},
    "sex": {"type": "categorical", "categories": ["f", "m"], "of": "unit"},
    "ward": {"type": "categorical", "categories": ["a", "b", "c"], "nullable": True},
    "born": {"type": "integer", "min": 1900, "max": 2020, "of": "unit"},
}
PLAIN = {"unit": "pid", "max_rows": 4, "order": "day", "columns": COLUMNS}


def stays(persons=300, seed=1):
    """Some with more rows than are kept, in any order; of a few the sex differs, and some rows name nobody."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(persons), rng.integers(1, 7, persons))
    sex, born = rng.choice(["f", "m"], persons)[who], rng.integers(1920, 2000, persons)[who]
    table = pd.DataFrame(
        {
            "day": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, len(who)), "D")).strftime(
                "%Y-%m-%d"
            ),
            "pid": [f"x{i}" for i in who],
            "stay": [str(9000 + i) for i in range(len(who))],
            "sex": sex,
            "ward": np.where(sex == "f", "a", "b"),
            "born": born.astype(str),
        }
    )
    table.loc[table.index[:5], "sex"] = "m"
    table.loc[table.index[-3:], "pid"] = ""
    return table.sample(frac=1, random_state=0)


@pytest.fixture
def place(tmp_path):
    stays().to_csv(tmp_path / "stays.csv", index=False)
    return tmp_path


def made(place, plain=PLAIN, **options):
    return synth.run(
        place / "stays.csv",
        schema=synth.Schema.parse(plain),
        epsilon=2,
        delta=1e-6,
        ledger=place / "ledger.sqlite",
        seed=1,
        **options,
    )


def check(frame):
    assert list(frame.columns) == list(COLUMNS)
    of_person = frame.groupby("pid")
    assert of_person.size().max() <= 4
    assert of_person.size().max() > 1
    assert of_person[["sex", "born"]].nunique().max().max() == 1
    assert of_person["day"].apply(lambda d: d.is_monotonic_increasing).all()
    assert frame["pid"].str.fullmatch("P[0-9]{5}").all()
    assert frame["stay"].is_unique


def test_the_result_is_one_table_whose_persons_keep_their_rows(place):
    result = made(place, out=place / "out")
    check(result.frame)
    check(synth.Release(place / "out").frame)
    assert sorted(p.name for p in (place / "out").glob("*.csv")) == ["synthetic.csv"]
    assert synth.Schema.load(place / "out" / "schema.json") == result.schema
    card = result.card
    assert card["unit"] == "pid"
    assert card["unit_in_words"] == "one person, named by pid, with all rows"
    assert card["rows"]["synthetic"] == result.num_rows == len(result.frame)
    synth.check(place / "out")
    line = Ledger(place / "ledger.sqlite").entries()[0]
    assert (line.dataset, line.unit, line.question["linked"]) == ("stays", "pid", True)


def test_more_persons_are_drawn_from_the_model(place, monkeypatch):
    made(place, out=place / "out")
    frame, probability = synth.sample(place / "out", num_rows=40, where={"sex": "f", "ward": "a"}, seed=3)
    check(frame)
    assert frame["pid"].nunique() == 40
    assert 0 < probability < 1
    assert (frame["sex"] == "f").all()
    assert (frame["ward"] == "a").groupby(frame["pid"]).any().all()
    rows, _, paths = synth.app_api.sample_to(place / "out", place / "more.parquet", num_rows=40, seed=3)
    assert files.read(place / "more.parquet", columns=list(COLUMNS)).num_rows == rows
    assert list(paths) == ["sample"]
    with pytest.raises(UsageError, match="one file"):
        synth.app_api.sample_to(place / "out", place / "parts", num_rows=40)
    with monkeypatch.context() as m:
        m.setattr(sample, "drawn", None)  # the release's own rows are copied, and none are drawn
        rows, _, paths = synth.app_api.sample_to(place / "out", place / "released.parquet", released=True)
    assert rows == len(pd.read_csv(place / "out" / "synthetic.csv"))


def test_another_fit_to_the_same_answers_keeps_persons_together_and_is_free(place):
    first = made(place, out=place / "out")
    again = synth.Release(place / "out").refit(method="independent", out=place / "again", num_rows=50, seed=2)
    check(again.frame)
    assert again.frame["pid"].nunique() == 50
    assert (again.epsilon_spent, again.card["refitted"], again.card["method"]) == (0.0, True, "independent")
    assert again.card["ledger_entry"] == first.card["ledger_entry"]
    assert [e.kind for e in Ledger(place / "ledger.sqlite").entries()].count("spend") == 1
    bundled = folder.load_release(place / "again", tree=None)
    assert bundled.schema.to_json() == folder.load_release(place / "out", tree=None).schema.to_json()
    synth.check(place / "again")
    with pytest.raises(UsageError, match="`target=`"):
        synth.app_api.refit(place / "out", target="ward")


def test_a_public_table_of_other_persons_is_a_prior_and_so_is_an_earlier_release(place):
    stays(400, seed=7).drop(columns=["born", "stay"]).to_csv(place / "older.csv", index=False)
    why = "the register's file of 2019"
    card = made(place, prior=[str(place / "older.csv")], prior_reason=why, out=place / "out").card
    (said,) = card["priors"]
    assert (said["rows"], said["columns"]) == (400, ["day", "sex", "ward"]), "persons"
    assert "public counts" in card["release_kinds"]
    later = made(place, prior=[str(place / "out")], dataset="later", separate=True, out=place / "later").card
    assert later["earlier_releases"]
    with pytest.raises(UsageError, match="cannot be fitted"):
        synth.app_api.refit(place / "out", method="independent")
    assert synth.app_api.refit(place / "out", num_rows=9).frame["pid"].nunique() == 9


@pytest.mark.parametrize(
    ("left_out", "rule"), [("pid", "lacks column pid, by which"), ("day", "lacks column day, by which")]
)
def test_a_prior_without_persons_or_their_order_is_refused(place, left_out, rule):
    stays(50, seed=7).drop(columns=[left_out]).to_csv(place / "older.csv", index=False)
    with pytest.raises(InputError, match=rule):
        made(place, prior=[str(place / "older.csv")], prior_reason="public")


def test_a_prior_that_holds_the_private_rows_is_refused(place):
    stays().drop(columns=["stay"]).to_csv(place / "older.csv", index=False)
    with pytest.raises(UsageError, match="holds the private table's rows"):
        made(place, prior=[str(place / "older.csv")], prior_reason="public")
    made(place, linked=False, out=place / "alone")
    with pytest.raises(InputError, match="no release of one table whose persons"):
        made(place, prior=[str(place / "alone")])


def test_rows_stand_alone_where_that_is_asked_for(place):
    alone = made(place, out=place / "alone", linked=False)
    assert alone.frame["pid"].is_unique
    assert not folder.is_related(place / "alone")
    assert alone.card["max_rows_of_a_unit"] == 4
    assert "keys" not in alone.card
    unsaid = {**PLAIN, "order": None, "columns": {n: {**c, "of": None} for n, c in COLUMNS.items()}}
    assert made(place, unsaid).frame["pid"].is_unique
    linked = made(place, unsaid, linked=True).frame
    assert not linked["pid"].is_unique


def test_the_same_rows_are_known_again_with_or_without_their_persons(place):
    made(place)
    for linked in (True, False):
        with pytest.raises(UsageError, match="were charged to 'stays' before"):
            made(place, linked=linked, dataset="other")


def test_reports_and_bundle_speak_of_the_one_table(place):
    made(place, out=place / "out")
    synth.report(place / "out", place / "public.html")
    assert publish.verdict(place / "out").uses
    pages = synth.report(
        place / "out", place / "own.html", real=place / "stays.csv", target="ward", ledger=place / "ledger.sqlite"
    )
    assert "report of synthetic" in pages
    packed = synth.bundle(place / "out", place / "out.zip", how="only", ledger=place / "ledger.sqlite", unfinished=True)
    assert "synthetic.parquet" in packed.parts
    assert "reproduce.py" not in packed.parts
    tree = folder.load_release(place / "out", tree=None).schema
    table = files.read(place / "out" / "synthetic.csv", columns=list(COLUMNS))
    assert not list(broken(tree, {"synthetic": table}))
    frame = pd.read_csv(place / "out" / "synthetic.csv", dtype=str)
    frame.loc[frame.pid == "P00001", "sex"] = ["f", "m", "f", "m"][: (frame.pid == "P00001").sum()]
    frame["pid"] = frame["pid"].replace("P00002", "P00001")
    frame.to_csv(place / "wrong.csv", index=False)
    assert list(broken(tree, {"synthetic": files.read(place / "wrong.csv", columns=list(COLUMNS))}))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"unit": None, "max_rows": None}, "nothing names persons; state unit and max_rows"),
        ({"max_rows": 1}, "max_rows of 2 or more"),
        ({"max_rows": 501}, "at most 500 are kept"),
        ({"order": "stays"}, "order 'stays' is not among the columns"),
        ({"order": "pid"}, "order 'pid' must be a number"),
        ({"order": "born"}, "orders nothing"),
        ({"columns": {**COLUMNS, "pid": {**COLUMNS["pid"], "of": "unit"}}}, 'leave out "of"'),
        ({"columns": {**COLUMNS, "stay": {"type": "identifier", "of": "unit"}}}, "fresh key for each row"),
        (
            {"constraints": [{"kind": "impossible", "rows": {"sex": "f", "ward": "b"}}]},
            r"constraint 1 \(impossible\) joins columns of a person with columns of rows \(sex, ward\)",
        ),
        (
            {"totals": [{"columns": ["ward"], "counts": [["a", "9"]], "unlisted": "open", "published": "a yearbook"}]},
            "totals: a table whose persons keep their rows has none yet",
        ),
        (
            {"columns": {**COLUMNS, "number of rows": COLUMNS["born"]}},
            "column 'number of rows' has a name that stands for",
        ),
        (
            {"columns": {**COLUMNS, "sex": {**COLUMNS["sex"], "role": "public", "reason": "a register"}}},
            "public columns of table persons",
        ),
    ],
)
def test_what_cannot_be_kept_together_is_refused_before_the_spend(place, change, rule):
    with pytest.raises(InputError, match=rule) as refused:
        made(place, {**PLAIN, **change})
    assert "\n" not in str(refused.value)
    assert not (place / "ledger.sqlite").exists() or not Ledger(place / "ledger.sqlite").entries()


def test_methods_of_rows_that_stand_alone_are_refused(place):
    with pytest.raises(UsageError, match=r"method aim: .*persons keep their rows by mixture, independent"):
        made(place, method="aim")


def test_an_order_between_a_person_s_and_a_row_s_column_is_kept(place):
    columns = {**COLUMNS, "since": {"type": "datetime", "min": "2020-01-01", "max": "2020-12-31", "of": "unit"}}
    table = pd.read_csv(place / "stays.csv", dtype=str, keep_default_na=False)
    table["since"] = "2020-01-01"
    table.to_csv(place / "stays.csv", index=False)
    frame = made(
        place, {**PLAIN, "columns": columns, "constraints": [{"kind": "order", "low": "since", "high": "day"}]}
    ).frame
    assert (frame["since"] <= frame["day"]).all()
    assert frame.groupby("pid")["since"].nunique().max() == 1


def test_a_table_without_columns_of_persons_keeps_their_rows(place):
    plain = {**PLAIN, "columns": {n: {**c, "of": None} for n, c in COLUMNS.items()}}
    frame = made(place, plain).frame
    assert not frame["pid"].is_unique
    assert frame.groupby("pid").size().max() <= 4


def test_the_command_line_runs_draws_and_plans(place, command):
    (place / "schema.json").write_text(json.dumps(PLAIN))
    common = ("--schema", place / "schema.json", "--epsilon", "1")
    ledger = ("--ledger", place / "l.sqlite")
    out, _ = command.done("run", place / "stays.csv", *common, "--out", place / "out", *ledger, "--json")
    assert json.loads(out)["num_rows"] > 0
    assert command("sample", place / "out", "--num-roots", "20", "--out", place / "more.csv")[0] == 0
    assert pd.read_csv(place / "more.csv")["pid"].nunique() == 20
    code, _, error = command("sample", place / "out", "--num-rows", "20", "--out", place / "more.csv")
    assert code == 2
    assert "--num-roots" in error
    (place / "q.json").write_text('{"kind": "count"}')
    out, _ = command.done("ask", place / "out", place / "q.json")
    assert out.startswith("count: synthetic ")
    again = ("run", "--from-release", place / "out", "--method", "independent", "--out", place / "again", "--json")
    code, out, error = command(*again)
    assert (code, json.loads(out)["epsilon_spent"]) == (0, 0.0), error
    out, _ = command.done("plan", *common, "--rows", "300", "--seconds", "20")
    assert "one person, named by pid" in out
    assert "rehearsed on" in out
    out, _ = command.done("run", place / "stays.csv", *common, "--unlinked", "--out", place / "alone", *ledger)
    assert "rows" in out
