"""Rows charged under another name: whoever may open both tables is told before the spend, nobody else at all."""

import gzip
import json
import operator
import os

import numpy as np
import pandas as pd
import pytest

import synth
from synth.app_api import jobs
from synth.errors import SpentError
from synth.pipeline import charge as charging
from synth.pipeline import same_rows
from synth.pipeline.prepare import charged_before
from synth.pipeline.run import requested
from synth.privacy.ledger.ledger import Ledger, Spend
from synth.schema import table as schemas
from synth.sources.formats.text_table import from_frame
from synth.sources.rows.sketch import RETAINED, RowSketch, Sketch
from tests.conftest import SMALL, small_frame
from tests.laws.masks import masked, still

ROLES = """[roles]
steward = ["ann@x.org", "bob@x.org"]
[datasets.first]
may_spend = ["ann@x.org"]
[datasets.second]
may_spend = ["ann@x.org", "bob@x.org"]
"""
OPEN = ROLES[: ROLES.index("[datasets.first]")]  # both spend on all datasets, and neither may open the other's table


@pytest.fixture
def place(tmp_path):
    small_frame(400).to_csv(tmp_path / "t.csv", index=False)
    other = small_frame(400).assign(age=np.arange(400) % 90)
    other.to_csv(tmp_path / "other.csv", index=False)
    (tmp_path / "s.json").write_text(json.dumps(SMALL))
    return tmp_path


def run(command, place, dataset, *more, table="t.csv", out="out"):
    return command(
        f"run {place}/{table} --schema {place}/s.json --epsilon 1 --method independent --num-rows 20 "
        f"--dataset {dataset} --out {place}/{out} --replace",
        *more,
    )


def job(name, owner, table=None):
    folder = jobs.home() / name
    folder.mkdir(parents=True)
    (folder / "run").write_text(f"id of {name}")
    (folder / "request.json").write_text(json.dumps({"owner": owner, "dataset": "second", "table": str(table)}))
    (folder / "status.json").write_text(json.dumps({"state": "queued"}))
    return folder


def test_the_same_rows_are_refused_before_the_spend_with_the_ways_out(command, place):
    assert run(command, place, "first")[0] == 0
    before = Ledger().entries()
    code, out, stderr = run(command, place, "second")
    assert (code, out) == (2, "")
    assert "charged to 'first' before" in stderr
    assert "--dataset 'first'" in stderr
    assert "--separate" in stderr
    assert Ledger().entries() == before, "nothing is spent, and nothing recorded that others could read"
    assert run(command, place, "first")[0] == 0
    assert run(command, place, "second", "--separate")[0] == 0
    assert run(command, place, "second")[0] == 0, "it was settled"
    assert run(command, place, "third")[0] == 2


def test_learning_and_statistics_ask_as_well(command, place):
    assert run(command, place, "first")[0] == 0
    kinds = {"columns": {n: {"type": f["type"]} for n, f in SMALL["columns"].items()}}
    (place / "kinds.json").write_text(json.dumps(kinds))
    learn = (
        "schema",
        "learn",
        place / "t.csv",
        "--schema",
        place / "kinds.json",
        "--epsilon",
        "1",
        "--out",
        place / "l.json",
    )
    ask = (
        "statistics",
        place / "t.csv",
        "--schema",
        place / "s.json",
        "--epsilon",
        "1",
        "--ask",
        "mean:age",
        "--out",
        place / "p.json",
    )
    for arguments in (learn, ask):
        code, _, stderr = command(*arguments, "--dataset", "second")
        assert (code, "first" in stderr) == (2, True)
    assert {e.dataset for e in Ledger().entries()} == {"first"}
    assert command(*learn, "--dataset", "learnt", "--separate")[0] == 0
    assert run(command, place, "fourth")[0] == 2


def seen(command, place, monkeypatch, *, before):
    """All that bob can see of a run on ``second`` after somebody charged the table ``before`` to ``first``."""
    monkeypatch.setenv("SYNTH_LEDGER", str(place / f"{before}.sqlite"))
    monkeypatch.delenv("SYNTH_ROLES", raising=False)
    of_ann = job(f"{before}-of-ann", "ann@x.org")
    assert run(command, place, "first", "--job", of_ann, table=before, out=f"{before}-first")[0] == 0
    monkeypatch.setenv("SYNTH_ROLES", str(place / "roles.toml"))
    folder = job(f"{before}-job", "bob@x.org")
    read = []
    old = Sketch.__init__
    with monkeypatch.context() as within:
        within.setattr(Sketch, "__init__", lambda self, *a, **k: (read.append(1), old(self, *a, **k))[1])
        reported = run(command, place, "second", "--job", folder, out=f"{before}-second")
    lines = Ledger().entries("second")
    marks = [len(e.question["fingerprint"]) for e in lines if e.kind == "fingerprint"]
    card = still(json.loads((place / f"{before}-second" / "card.json").read_text()), place)
    noisy = ("ledger_entry", "mechanisms", "epsilon_derived")
    return {
        "code": reported[0],
        "out": masked(reported[1], place).replace(before, "T"),
        "err": masked(reported[2], place).replace(before, "T"),
        "kinds": [e.kind for e in lines],
        "marks": marks,
        "card": {k: v for k, v in card.items() if k not in noisy},
        "passes": len(read),
        "message": json.loads((folder / "status.json").read_text())["message"],
    }


@pytest.mark.parametrize(("rules", "passes"), [(ROLES, 1), (OPEN, 2)], ids=["spends on one", "spends on both"])
def test_who_may_open_one_table_alone_sees_no_difference(command, place, monkeypatch, rules, passes):
    """Exit code, messages, ledger lines, sizes, and how often the rows are read: the same whether rows are there."""
    (place / "roles.toml").write_text(rules)
    results = [seen(command, place, monkeypatch, before=name) for name in ("t.csv", "other.csv")]
    assert results[0]["code"] == 0
    assert results[0] == results[1]
    assert results[0]["passes"] == passes


@pytest.mark.parametrize("rules", [ROLES, OPEN], ids=["spends on one", "spends on both"])
@pytest.mark.parametrize(("owner", "code"), [("ann@x.org", 2), ("bob@x.org", 0), ("eve@y.org", 0), ("", 0)])
def test_a_file_of_roles_says_who_is_told(command, place, monkeypatch, rules, owner, code):
    assert run(command, place, "first", "--job", job("first", "ann@x.org"))[0] == 0
    (place / "roles.toml").write_text(rules)
    monkeypatch.setenv("SYNTH_ROLES", str(place / "roles.toml"))
    result, _, stderr = run(command, place, "second", "--job", job("job", owner))
    assert (result, "first" in stderr) == (code, code == 2)


def audience(place, monkeypatch, person, *, tables=""):
    (place / "roles.toml").write_text(OPEN)
    monkeypatch.setenv("SYNTH_ROLES", str(place / "roles.toml"))
    monkeypatch.setenv("SYNTH_TABLES", str(tables))
    return same_rows.audience_of(person)


def test_an_offered_table_is_one_that_every_steward_may_open(command, place, monkeypatch):
    offered = place / "offered" / "t.csv"
    offered.parent.mkdir()
    offered.write_bytes((place / "t.csv").read_bytes())
    folder = job("first", "ann@x.org", table=offered)
    assert run(command, place, "first", "--job", folder, table="offered/t.csv")[0] == 0
    asked = {"schema": schemas.parse(SMALL), "dataset": "second"}
    for tables, told in ((place / "offered", ["first"]), (place / "elsewhere", [])):
        who = audience(place, monkeypatch, "bob@x.org", tables=tables)
        assert charged_before(place / "t.csv", audience=who, **asked) == told


def test_equal_rows_of_a_colleague_hide_no_rows_of_ones_own(place, monkeypatch):
    """Equal marks are passed over, so that looking is quick: never an own one behind another's."""
    book, digest = Ledger(), b"rows"
    facts = {"delta": 1e-5, "relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}
    for run_id, person in (("1", "bob@x.org"), ("2", "ann@x.org"), ("3", "ann@x.org")):
        book.spend(Spend(dataset="first", epsilon=0.1, question={}, run=run_id, actor=person, **facts))
        book.fingerprint(run_id, dataset="first", digest=digest)
    for person, told in (("bob@x.org", ["first"]), ("ann@x.org", ["first"]), ("eve@x.org", [])):
        who = audience(place, monkeypatch, person)
        assert book.twins(digest, dataset="second", audience=who, alike=operator.eq) == told


def test_what_a_colleague_said_of_rows_like_these_settles_nothing(place, monkeypatch):
    """Else a warning that stays away would tell that his table holds them."""
    book, digest = Ledger(), b"rows"
    facts = {"delta": 1e-5, "relation": "add_remove", "unit": "row", "engine": "gdp", "noise_source": "system"}
    for run_id, person, dataset in (("1", "bob@x.org", "first"), ("2", "ann@x.org", "second")):
        book.spend(Spend(dataset=dataset, epsilon=0.1, question={}, run=run_id, actor=person, **facts))
        book.fingerprint(run_id, dataset=dataset, digest=digest, apart=person == "ann@x.org")
    who = audience(place, monkeypatch, "bob@x.org")
    assert book.twins(digest, dataset="second", audience=who, alike=operator.eq) == ["first"]


@pytest.mark.parametrize("lacks", [False, True], ids=["described", "learns first"])
def test_of_two_runs_that_begin_together_the_second_is_refused_before_any_answer(place, lacks):
    """Neither was marked when the other was checked: the mark is compared once more in the step that records it."""
    bare = {"columns": {n: {"type": f["type"]} for n, f in SMALL["columns"].items()}}
    facts = schemas.parse(bare if lacks else SMALL, complete=not lacks)
    share = {"learn_share": 0.2} if lacks else {}
    options = {"epsilon": 1.0, "delta": 1e-5, "method": "independent", "num_rows": 5} | share
    request, context = requested(place / "t.csv", dataset="second", **options)

    def overtaken():
        with charging.charge(request, facts, context) as second:  # checked: nothing was charged so far
            synth.run(place / "t.csv", schema=facts, dataset="first", **options)
            second.learn()
            second.measure()

    with pytest.raises(SpentError, match="'first' before"):
        overtaken()
    lines = Ledger().entries("second")
    assert [e.kind for e in lines] == ["spend", "outcome"]
    assert lines[1].question == {"state": "failed", "detail": {"answered": False}}


@pytest.mark.parametrize(("owner", "code"), [("ann@x.org", 2), ("bob@x.org", 0)])
def test_learning_and_deciding_for_somebody_ask_as_a_run_does(command, place, monkeypatch, owner, code):
    """The application starts both as jobs, which have an owner; without one nothing was compared."""
    assert run(command, place, "first", "--job", job("first", "ann@x.org"))[0] == 0
    (place / "roles.toml").write_text(ROLES)
    monkeypatch.setenv("SYNTH_ROLES", str(place / "roles.toml"))
    monkeypatch.setenv("SYNTH_JOB", str(job("job", owner)))
    ask = f"statistics {place}/t.csv --schema {place}/s.json --epsilon 1 --ask mean:age --out {place}/p.json"
    assert command(ask, "--dataset", "second")[0] == code


def test_lines_of_the_ledger_do_not_tell_equal_rows(command, place):
    """Also not of one dataset, whose rows may have changed between two runs."""
    for dataset in ("first", "first", "second"):
        assert run(command, place, dataset, *(("--separate",) if dataset == "second" else ()))[0] == 0
    marks = [e.question for e in Ledger().entries() if e.kind == "fingerprint"]
    texts = [m["fingerprint"] for m in marks]
    assert len(set(texts)) == 3
    assert len({len(t) for t in texts}) == 1
    assert all(set(m) == {"form", "fingerprint"} for m in marks)
    from base64 import b64decode

    for one, other in ((0, 1), (0, 2)):  # a stream used twice would show equal bytes where plain texts agree
        pair = [np.frombuffer(b64decode(texts[i]), np.uint8) for i in (one, other)]
        assert np.mean(pair[0] == pair[1]) < 0.05


def test_a_cell_that_stops_the_reading_changes_nothing(command, place, monkeypatch):
    assert run(command, place, "first")[0] == 0

    def stumbles(*_):
        raise ValueError("SENTINEL")

    monkeypatch.setattr(same_rows, "_fill", stumbles)
    code, _, stderr = run(command, place, "second", table="other.csv")
    assert (code, "SENTINEL" in stderr) == (0, False)


def charged(frame, dataset="first", schema=SMALL):
    return charged_before(frame, schema=schemas.parse(schema), dataset=dataset)


@pytest.fixture
def first(command, place):
    frame = small_frame(1000)
    frame.to_csv(place / "t.csv", index=False)
    assert run(command, place, "first")[0] == 0
    return frame


def written(frame, place):
    """The same rows in every other format."""
    typed = frame.assign(
        age=frame.age.astype(int), income=pd.to_numeric(frame.income), seen=pd.to_datetime(frame.seen.replace("", None))
    )
    typed.to_parquet(place / "copy.parquet")
    typed.to_excel(place / "copy.xlsx", index=False)
    with gzip.open(place / "copy.csv.gz", "wt") as out:
        frame.sample(frac=1, random_state=2)[frame.columns[::-1]].to_csv(out, index=False)
    import duckdb

    with duckdb.connect(str(place / "copy.duckdb")) as db:
        db.register("typed", typed)
        db.execute("CREATE TABLE people AS SELECT * FROM typed")
    return ("copy.parquet", "copy.xlsx", "copy.csv.gz")


def test_all_formats_of_the_same_rows_have_one_mark(first, place):
    for name in written(first, place):
        assert charged(place / name, "elsewhere") == ["first"], name
    source = f"duckdb:///{place / 'copy.duckdb'}"
    facts = schemas.parse(SMALL)
    pytest.importorskip("ibis")
    assert charged_before("people", schema=facts, dataset="elsewhere", source=source) == ["first"]
    assert charged(place / "copy.parquet", "first") == []


def test_rows_charged_from_a_database_are_known_in_a_file(command, place):
    pytest.importorskip("ibis")
    frame = small_frame(300)
    written(frame, place)
    command.done(
        f"run --table people --source duckdb:///{place}/copy.duckdb --schema {place}/s.json --epsilon 1 "
        f"--method independent --num-rows 20 --dataset base --out {place}/out"
    )
    frame.to_csv(place / "t.csv", index=False)
    assert charged(place / "t.csv", "elsewhere") == ["base"]


def near(frame):
    """Near copies that are to be found, by name."""
    rng = np.random.default_rng(3)
    changed = frame.copy()
    changed.loc[rng.choice(len(frame), len(frame) // 5, replace=False), "age"] = "17"
    few = {n: c for n, c in SMALL["columns"].items() if n in ("age", "income", "seen")}
    renamed = {f"{n}_2": c for n, c in SMALL["columns"].items() if n != "id"}
    return {
        "a fifth of the rows changed": (changed, SMALL),
        "a tenth of the rows removed": (frame.sample(frac=0.9, random_state=4), SMALL),
        "rows added": (pd.concat([frame, small_frame(1200).iloc[1000:].assign(income="7.5")]), SMALL),
        "columns dropped": (frame[["age", "income", "seen"]], {"columns": few}),
        "columns renamed": (frame.add_suffix("_2"), {"columns": renamed}),
    }


def test_near_copies_are_found(first):
    for name, (frame, facts) in near(first).items():
        assert charged(frame, "elsewhere", facts) == ["first"], name


def test_other_people_of_the_same_population_are_no_copy(first):
    rng = np.random.default_rng(11)
    mixed = pd.DataFrame({c: rng.permutation(first[c]) for c in first.columns if c != "seen"})
    mixed["seen"] = rng.choice([d for d in first.seen if d], len(first))
    assert charged(mixed, "elsewhere") == []


def test_independent_tables_of_one_population_do_not_look_alike():
    """The bound of ``RowSketch.like``: at the worst rate of rows that stand once, over many sizes of population."""
    rng = np.random.default_rng(5)
    for types in (1000, 3000, 10_000):
        marks = []
        for _ in range(2):
            drawn = rng.integers(0, types, 3000)
            sketch = Sketch(b"k" * 16, ["a", "b"])
            sketch.add(from_frame(pd.DataFrame({"a": drawn, "b": drawn % 7})))
            marks.append(RowSketch.read(sketch.value()))
        assert marks[0].least[-1] < np.iinfo(np.uint64).max
        union = np.union1d(marks[0].least, marks[1].least)[:RETAINED]
        assert np.isin(union, np.intersect1d(marks[0].least, marks[1].least)).mean() < 0.4
        assert not marks[0].like(marks[1])
        assert len(marks[0].least) == RETAINED


def test_marks_of_older_ledgers_are_still_compared():
    import hmac

    from synth.privacy.ledger import entries, transactions

    book = Ledger()
    table = from_frame(small_frame(50))
    rows = Sketch(book.row_key(), table.names)
    rows.add(table)
    digest = RowSketch.read(rows.value()).digest
    reported = {"fingerprint": hmac.new(transactions.key(book.store), digest, "sha256").hexdigest()}
    with transactions.writing(book.store) as db:
        entries.append(db, kind="fingerprint", question=reported, run="r", dataset="old", actor="a")
    facts = {
        n: {**c, "type": "categorical", "categories": ["x"]} if c["type"] == "identifier" else c
        for n, c in SMALL["columns"].items()
    }
    assert charged(small_frame(50), "new", {"columns": facts}) == ["old"]
    assert charged(small_frame(51), "new", {"columns": facts}) == []


def test_a_file_has_one_default_name_and_keeps_its_earlier_one(command, place, monkeypatch):
    from synth.pipeline.private_rows import dataset_name

    table = place / "town.survey.csv"
    os.rename(place / "t.csv", table)
    assert dataset_name(table, None) == "town"
    assert dataset_name(table, None, book=Ledger()) == "town"
    monkeypatch.chdir(place)
    command.done(f"run {table.name} --schema s.json --epsilon 1 --method independent --num-rows 20 --out o")
    assert {e.dataset for e in Ledger().entries()} == {"town"}
    Ledger().set_policy(str(table), max_epsilon=2)  # as versions before this one named it
    assert dataset_name(table.name, None, book=Ledger()) == str(table)


def test_the_ledger_does_not_tell_which_table_is_too_long_to_be_compared(command, place, monkeypatch):
    """A row more than is compared leaves the same lines, of the same length; and nothing is like it."""
    monkeypatch.setattr("synth.pipeline.same_rows.MOST_COMPARED", 300)
    monkeypatch.setattr("synth.sources.table_source.MOST_COMPARED", 300)
    reported = {}
    for rows in (300, 301):
        small_frame(rows).to_csv(place / "n.csv", index=False)
        assert run(command, place, f"n{rows}", table="n.csv", out=f"n{rows}")[0] == 0
        lines = Ledger().entries(f"n{rows}")
        reported[rows] = [(e.kind, len(json.dumps(e.question)) if e.kind == "fingerprint" else 0) for e in lines]
    assert reported[300] == reported[301]
    assert "fingerprint" in dict(reported[301])
    assert run(command, place, "again", table="n.csv", out="again")[0] == 0, "too long to be known again"
