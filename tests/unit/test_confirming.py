"""Nothing that tells of a person passes as a public fact: from a messy file to a release on the command line."""

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

from synth.errors import InputError, UsageError
from synth.pipeline.schema_approval import alone, confirmed, risky
from synth.release import folder
from synth.schema import codec
from synth.schema import table as schemas
from synth.schema.coarsening import coarser
from synth.sources.draft_schema import draft
from synth.sources.formats.text_table import from_frame
from tests.made import codes, facts_of, number
from tests.messy import clean, messy, reported_in, secrets

pytestmark = pytest.mark.xdist_group("confirming")
QUESTIONS = 4  # that a messy file may ask more than a clean one


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return messy()


@pytest.fixture(scope="module")
def drafted(table):
    return draft(from_frame(table))


def one(cells, name="c", **options):
    return draft(from_frame(pd.DataFrame({name: cells})), **options).schema.columns[name]


def test_keys_are_counters_notes_are_left_out_and_long_lists_stand_apart(drafted):
    columns = drafted.schema.columns
    kinds = {n: c.type for n, c in columns.items()}
    assert [n for n, k in kinds.items() if k == "identifier"] == ["patient", "MRN", "Fallnummer"]
    assert kinds["note"] == "omitted"
    assert (kinds["dob"], columns["dob"].min, columns["dob"].max) == ("datetime", "1920-01-01", "2019-12-31")
    assert kinds["geburtsdatum"] in ("omitted", "datetime"), "never a list of categories"
    assert risky(drafted.schema) == {"postcode": "many", "diagnosis": "many"}
    listed = {v for c in columns.values() for v in c.categories or ()}
    assert not listed & set.union(*secrets(messy()).values())


def test_a_clean_file_asks_at_most_four_questions_less(table, drafted):
    lines = draft(from_frame(clean(table))).suggestions
    assert len(drafted.suggestions) - len(lines) <= QUESTIONS + 1, drafted.suggestions
    assert not risky(draft(from_frame(clean(table))).schema)


@pytest.mark.parametrize(
    ("cells", "name", "kind"),
    [
        ([f"{i // 2}" for i in range(3000, 3400)], "patient", "identifier"),
        ([f"{i // 9}" for i in range(9000, 18000)], "MRN", "identifier"),
        ([f"F-{i // 2:06d}" for i in range(400)], "x", "identifier"),
        ([f"{800_000 + i // 3}" for i in range(600)], "x", "identifier"),
        ([str(i) for i in range(1, 200)], "x", "identifier"),
        ([f"a{i}@b.org" for i in range(100)] * 3, "email", "identifier"),
        ([f"seen at {i} by the doctor on call" for i in range(150)] * 2, "x", "omitted"),
        ([f"{d}.{m}.19{y}" for d in range(1, 29) for m in range(1, 9) for y in (50, 61)], "x", "datetime|omitted"),
        ([f"{m}/{d}/1961 08:15" for d in range(1, 29) for m in range(1, 13)], "x", "datetime|omitted"),
        ([f"1961{m:02}{d:02}" for d in range(1, 29) for m in range(1, 13)], "x", "datetime|omitted"),
        ([f"{d} Mar {y}" for d in range(1, 29) for y in range(1950, 1960)], "x", "datetime|omitted"),
        ([f"{1000 + 7 * i}" for i in range(500)], "income", "integer"),
        ([str(i % 90) for i in range(3000)], "patient_age", "integer"),
        (["some college, no degree", "none", "a master of some science"] * 50, "school", "categorical"),
    ],
)
def test_a_kind_is_told_by_content_for_text_as_for_numbers(cells, name, kind):
    assert one(cells, name).type in kind.split("|")


@pytest.mark.parametrize(
    ("cells", "risk"),
    [
        ([f"w{i % 101}" for i in range(20_000)], "many"),
        (["a", "b", "c"] * 1000 + ["seldom"] * 9, "rare"),
        (["a", "b", "c"] * 1000 + ["often"] * 10, None),
        (["a", "b", "c"] * 8, None),
        (["yes"] * 500 + ["no"], None),
    ],
)
def test_lists_with_many_or_rare_values_are_marked(cells, risk):
    assert one(cells).risk == risk


def test_naming_a_column_does_not_lift_its_mark(table):
    named = draft(from_frame(table), categorical=["patient", "note", "geburtsdatum"]).schema
    assert {n: risky(named)[n] for n in ("patient", "note", "geburtsdatum")} == {
        "patient": "key",
        "note": "text",
        "geburtsdatum": "dates",
    }


def test_a_run_enforces_the_mark_and_drafts_of_before_are_checked_by_content(table):
    schema = draft(from_frame(table[["diagnosis", "ward"]])).schema
    old = schemas.parse(
        {
            "columns": {
                n: {k: v for k, v in c.model_dump(exclude_none=True).items() if k != "risk"}
                for n, c in schema.columns.items()
            }
        }
    )
    for facts in (schema, old):
        assert alone(facts) == {"diagnosis": "it has a long list of values"}
        with pytest.raises(InputError, match=r"diagnosis \(400 values"):
            settle(facts, True)
        with pytest.raises(InputError, match="`reasons=diagnosis=TEXT`"):
            settle(facts, ["diagnosis"])
        done = settle(facts, ["diagnosis"], {"diagnosis": "the national list"})
        assert (done.columns["diagnosis"].source, done.columns["diagnosis"].reason) == ("public", "the national list")
    with pytest.raises(UsageError, match="`assume_public=zzz`"):
        settle(schema, ["zzz"])
    marked = schema.columns["diagnosis"].model_copy(update={"source": "declared"})
    with pytest.raises(InputError, match="state why"):  # a mark is not lifted by changing the source
        settle(schema.model_copy(update={"columns": {**schema.columns, "diagnosis": marked}}), True)


def settle(schema, assume, reasons=None):
    return confirmed(schema, assume_public=assume, reasons=reasons or {}, max_categories=50_000, note=lambda _: None)


def test_a_key_that_repeats_is_proposed_as_the_unit_and_must_be_answered(table, drafted):
    schema = drafted.schema
    assert (schema.unit, schema.unit_source) == ("patient", "unconfirmed")
    counts = table.patient.value_counts().to_numpy()
    retained = [np.minimum(counts, k).sum() / len(table) for k in (schema.max_rows, schema.max_rows - 1)]
    assert retained[0] >= 0.95 > retained[1]
    (asked,) = (line for line in drafted.suggestions if "Can a person appear in more than one row?" in line)
    assert "patient has 4397 values in 8000 rows" in asked
    harmless = {n: c for n, c in schema.columns.items() if n not in risky(schema)}
    with pytest.raises(InputError, match="`unit=patient` `max_rows="):
        settle(schema.model_copy(update={"columns": harmless}), True)
    answer = draft(from_frame(table), unit="row")
    assert (answer.schema.unit, answer.schema.unit_source, answer.schema.max_rows) == ("row", "declared", None)


def test_grouping_reads_each_cell_alone_by_a_list_that_rows_do_not_change():
    column = one([f"{n:05d}" for n in range(1067, 90000, 37)] * 3, "postcode")
    result = coarser(column, 2)
    assert result.categories == tuple(f"{n:02d}" for n in range(100))
    cells = np.array(["01067", "99999", "7", "", "x1"], dtype=object)
    places = codec.known(result, cells)[0].tolist()
    assert places == [1, 99, -1, -1, -1]
    assert [codec.known(result, cells[i : i + 1])[0][0] for i in range(5)] == places
    listed = schemas.Column(
        type="categorical",
        categories=("a", "b", "other"),
        missing=("", "?"),
        grouping=schemas.Grouping(kind="listed", other="other"),
    )
    assert codec.known(listed, np.array(["b", "zebra", "?", "", "other"], dtype=object))[0].tolist() == [1, 2, 4, 3, 2]


@pytest.mark.parametrize(
    "grouping",
    [{"kind": "prefix"}, {"kind": "listed"}, {"kind": "listed", "other": "zzz"}, {"kind": "prefix", "length": 1}],
)
def test_a_grouping_that_does_not_fit_is_refused(grouping):
    with pytest.raises(InputError, match="grouping"):
        schemas.parse(facts_of(a=codes("xx", "y", grouping=grouping)))


PLAIN = {"index": False}
HOSPITAL = {"index": False, "sep": ";", "encoding": "windows-1252", "lineterminator": "\r\n"}


@pytest.mark.parametrize("written", [PLAIN, HOSPITAL], ids=["plain", "hospital"])
def test_a_messy_file_goes_to_a_release_without_a_key_a_note_or_a_birth_date(table, tmp_path, command, written):
    """Everything that is offered together is taken; three answers more than for a clean file."""
    rows, schema, out = tmp_path / "visits.csv", tmp_path / "draft.json", tmp_path / "out"
    if written is HOSPITAL:
        table = table.assign(
            ward=table.ward.replace("eyes", "Köln-Süd"),
            temperature=table.temperature.str.replace(".", ",", regex=False),
        )
    table.to_csv(rows, **written)
    _, stderr = command.done("schema", "init", rows, "--out", schema, "--dataset", "visits", "--assume-public")
    assert ("semicolons" in stderr) == (written is HOSPITAL)
    held = schema.read_text()
    assert "unconfirmed: postcode, diagnosis" in stderr
    plain = ("run", rows, "--schema", schema, "--epsilon", "1", "--out", out, "--seed", "1")
    code, _, stderr = command(*plain, "--assume-public")
    assert code == 2, "a list of 400 diagnoses is not confirmed with the others"
    assert "postcode (350 values" in stderr
    code, _, stderr = command(*plain, "--assume-public", "--learn-share", "0.1")
    assert code == 2, "and the answer about persons is asked for"
    assert "can a person appear in more than one row?" in stderr
    assert not out.exists()
    most = json.loads(held)["max_rows"]
    command.done(*plain, "--assume-public", "--learn-share", "0.1", "--unit", "patient", "--max-rows", most)
    for name, cells in secrets(table).items():
        if name == "patient":
            cells = {c for c in cells if len(c) > 5}
        if name not in ("dob", "geburtsdatum"):  # dates are drawn: some meet a real one by chance
            assert reported_in(out, cells) == set(), name
    made = pd.read_csv(out / "synthetic.csv", dtype=str)
    assert "note" not in made.columns
    assert made.patient.tolist() == [str(i) for i in range(1, len(made) + 1)]
    assert_not_copied(made.dob, table.dob)
    assert_not_copied(made.geburtsdatum, pd.to_datetime(table.geburtsdatum, format="%d.%m.%Y"))
    stored = folder.load_release(out)
    own = out / "synthetic.dialect.csv"
    if written is HOSPITAL:
        assert set(made.ward) == set(table.ward)
        again = pd.read_csv(own, dtype=str, sep=";", encoding="windows-1252", keep_default_na=False)
        assert again.ward.tolist() == made.ward.tolist()
        assert [t.replace(",", ".") for t in again.temperature] == made.temperature.fillna("").tolist()
        assert pd.to_numeric(again.temperature, errors="coerce").isna().mean() > 0.5, "with decimal commas"
        assert b"\r\n" in own.read_bytes()[:1000]
    assert stored.setting.schema.columns["diagnosis"].source == "private"


def assert_not_copied(made: pd.Series, real: pd.Series) -> None:
    """Synthetic dates meet real ones no more often than they meet the days beside them: by chance alone."""
    days, there = pd.to_datetime(made.dropna()), set(pd.to_datetime(real))
    hits = [np.mean([d in there for d in days + pd.Timedelta(days=k)]) for k in (0, 101, -101, 173, -173)]
    spread = np.sqrt(2 * 0.25 / len(days))
    assert hits[0] - np.mean(hits[1:]) < 5.5 * spread, hits


def test_what_a_draft_leaves_unconfirmed_is_learnt_without_deleting_facts_by_hand(table, tmp_path, command):
    rows, schema, learnt = tmp_path / "visits.csv", tmp_path / "draft.json", tmp_path / "learnt.json"
    table[["patient", "note", "diagnosis", "ward", "age"]].to_csv(rows, index=False)
    assert command("schema", "init", rows, "--out", schema, "--dataset", "v")[0] == 0
    asked = ("schema", "learn", rows, "--schema", schema, "--epsilon", 4, "--out", learnt)
    code, _, stderr = command(*asked)
    assert (code, "can a person appear in more than one row?" in stderr) == (2, True)
    command.done(*asked, "--unit", "patient", "--max-rows", 3)
    result = schemas.load(learnt).columns
    assert {n: c.source for n, c in result.items()} == {
        "patient": "declared",
        "diagnosis": "private",
        "ward": "private",
        "age": "private",
    }
    assert set(result["ward"].categories) == set(table.ward)
    assert result["diagnosis"].risk is None


def test_what_is_learnt_in_two_steps_costs_the_sum_of_both(table, tmp_path, command):
    """The second price stood in place of the first before, so that a card claimed too little."""
    rows, schema = tmp_path / "visits.csv", tmp_path / "kinds.json"
    table[["ward", "age"]].to_csv(rows, index=False)
    plain = facts_of(ward={"type": "categorical"}, age=number(0, 110)) | {"dataset": "v"}
    for epsilon in (1, 2):
        schema.write_text(json.dumps(plain))
        command.done("schema", "learn", rows, "--schema", schema, "--epsilon", epsilon, "--out", schema)
        plain = json.loads(schema.read_text())
        plain["columns"]["age"] = {"type": "integer"}
    assert plain["learnt"]["epsilon"] == 3
    assert len(plain["learnt"]["mechanisms"]) == 2
    out = tmp_path / "out"
    assert command("run", rows, "--schema", schema, "--epsilon", 1, "--out", out, "--method", "independent")[0] == 0
    assert json.loads((out / "card.json").read_text())["epsilon"] == 4
    assert command("card", "check", out)[0] == 0


def test_a_reason_goes_onto_the_card_and_a_last_look_counts_what_stands_there(table, tmp_path, command):
    rows, schema, out = tmp_path / "visits.csv", tmp_path / "draft.json", tmp_path / "out"
    table[["diagnosis", "ward", "postcode"]].to_csv(rows, index=False)
    command.done(
        f"schema init {rows} --out {schema} --dataset v --group postcode=2 --assume-public diagnosis --reason",
        "diagnosis=the national list",
    )
    run = ("run", rows, "--schema", schema, "--epsilon", "8", "--method", "independent", "--out", out)
    command.done(*run)
    card = json.loads((out / "card.json").read_text())
    said = {"values": 400, "reason": "the national list"}
    assert card["vouched_alone"] == {"diagnosis": said}
    assert any(i.get("vouched") == "the national list" for i in card["invariants"])
    stderr, _ = command.done("bundle", out, "--out", tmp_path / "r.zip", "--choice", "only", "--json")
    with zipfile.ZipFile(tmp_path / "r.zip") as archive:
        assert b"the national list" in archive.read("card.html")
    made = pd.read_csv(out / "synthetic.csv", dtype=str)
    assert json.loads(stderr)["standing"] == {"diagnosis": made.diagnosis.nunique(), "ward": 4}
    stderr, _ = command.done("report", out, "--real", rows, "--out", tmp_path / "r.html", "--json")
    few = table.diagnosis.value_counts()
    expected = sum(few.get(v, 0) < 10 for v in made.diagnosis.unique())
    assert expected > 0
    assert json.loads(stderr)["of_which_in_few_real_rows"] == {"diagnosis": expected, "ward": 0}
