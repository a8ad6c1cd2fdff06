"""One request from page or command line to ledger: checked where it is made, stored and read without a loss."""

import json
from pathlib import Path
from typing import get_args

import duckdb
import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import synth
from synth import jobs
from synth.errors import InputError, UsageError
from synth.generators import GENERATORS
from synth.generators.method import options_of, with_options
from synth.pipeline.request import (
    TASKS,
    LearningRequest,
    RefitRequest,
    ReportRequest,
    RunRequest,
    StatisticsRequest,
    VerifiedRequest,
    read,
)
from synth.sources.engines import duckdb as scratch

FACTS = {"epsilon": 1.0, "delta": 1e-5}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0}, "epsilon 0 is not a finite number above 0"),
        ({"epsilon": "1"}, "epsilon 1 is not a finite number"),
        ({"delta": 2}, "delta 2 must lie between 0 and 1"),
        ({"epsilon": None}, "epsilon None"),
        ({"num_rows": 0}, "`num_rows=0`: at least 1 row"),
        ({"num_rows": "many"}, "`num_rows=`: "),
        ({"seed": -1}, "`seed=-1`: must be a whole number"),
        ({"target": "\ud800"}, "`target=`: holds half a character"),
        ({"epsilom": 1}, "`epsilom=`: no option of a run; did you mean epsilon?"),
        ({"out_of_place": 1}, "`out_of_place=`: no option of a run; see"),
        ({"options": ["k=2"]}, "`options=`: "),
        ({"assume_public": 3}, "`assume_public=`: "),
    ],
)
def test_what_is_no_request_is_one_line_that_names_the_option(wrong, words):
    with pytest.raises(UsageError) as caught:
        RunRequest(**{**FACTS, **wrong})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


NEEDED = {
    RefitRequest: {"release": "r"},
    VerifiedRequest: {"release": "r", "questions": {}},
    ReportRequest: {"release": "r", "reports": "j", "table": "t", "out": "o"},
}
NUMBERS = [
    (task, name)
    for task in (RunRequest, *TASKS.values())
    for name, field in task.model_fields.items()
    if {int, float} & {field.annotation, *get_args(field.annotation)}
]


@pytest.mark.parametrize(("task", "name"), dict.fromkeys(NUMBERS))
@pytest.mark.parametrize("value", [True, False, "5", "1", ""])
def test_a_number_is_neither_a_text_nor_a_truth(task, name, value):
    with pytest.raises(UsageError, match=name):
        task(**{**(FACTS if issubclass(task, RunRequest) else {}), **NEEDED.get(task, {}), name: value})


@pytest.mark.parametrize("name", [*GENERATORS])
def test_a_methods_number_is_no_truth(name):
    """A text is what the command line hands over."""
    made = GENERATORS[name]
    for option, default in options_of(made).items():
        if isinstance(default, int | float) and not isinstance(default, bool):
            for value in (True, False):
                with pytest.raises(UsageError, match=f"options.{option}={value}"):
                    with_options(made, {option: value})


NEAR = {  # each option of a closed set of values, a typo of one, and what was meant
    "dialect": ("plian", "plain"),
    "relation": ("add_remov", "add_remove"),
    "method": ("independant", "independent"),
    "device": ("cpuu", "cpu"),
    "options": ({"encodng": "binned"}, "encoding"),
}
CHOSEN = {"options": {"method": "slicing"}}  # what an option's typo needs beside it


@pytest.mark.parametrize("name", NEAR)
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("related", [False, True])
def test_an_unknown_value_is_refused_before_the_spend_whether_it_would_be_used_or_not(name, written, related, tmp_path):
    """A dialect was once looked at only where a table was to be written: nonsense was charged."""
    one = {"a": {"type": "categorical", "categories": ["x", "y"]}}
    child = {"k": {"type": "identifier"}, "b": {"type": "boolean", "categories": ["n", "y"]}}
    key = {"parent": "p", "child": "c", "columns": ["k"], "most_children": 2}
    frame = pd.DataFrame({"a": ["x", "y"] * 5, "k": [str(i) for i in range(10)]})
    tree = {"tables": {"p": {"columns": {"k": {"type": "identifier"}, **one}}, "c": {"columns": child}}, "keys": [key]}
    schema = synth.app_api.parse_related(tree) if related else synth.Schema.parse({"columns": one})
    table = {"p": frame, "c": frame.rename(columns={"a": "b"})} if related else frame[["a"]]
    options = {**CHOSEN.get(name, {}), "out": tmp_path / "out" if written else None, "ledger": tmp_path / "l.sqlite"}
    wrong, meant = NEAR[name]
    for value, words in ((wrong, f"did you mean {meant}?"), ({"zzz": 1} if name == "options" else "zzz", "")):
        with pytest.raises(UsageError) as caught:
            synth.run(table, schema=schema, dataset="d", epsilon=1, delta=1e-5, **{**options, name: value})
        assert words in str(caught.value) or related  # related tables have one method, which they name
    assert not (tmp_path / "out").exists()
    assert not synth.Ledger(tmp_path / "l.sqlite").entries("d")


def test_a_request_cannot_be_changed_but_copied():
    one = RunRequest(**FACTS)
    with pytest.raises(ValidationError, match="frozen"):
        one.epsilon = 9.0
    other = one.changed(approved_by="bob")
    assert (one.approved_by, other.approved_by) == (None, "bob")
    with pytest.raises(UsageError, match="half a character"):
        one.changed(approved_by="\ud800")


def test_a_request_survives_its_file():
    one = RunRequest(
        **FACTS,
        table=Path("a.csv"),
        schema="s.json",
        num_rows=np.int64(5),
        options={"k": 2},
        assume_public=["zip"],
        reasons={"zip": "known"},
        ask=("mean:age",),
        separate=True,
    )
    assert RunRequest.read(json.loads(json.dumps(one.stored()))) == one
    assert (one.table, one.num_rows, one.assume_public) == ("a.csv", 5, ("zip",))
    assert one.stored()["version"] == 1


@pytest.mark.parametrize("source", ["postgres://ann:secret@db.example/census", "postgres://db/census?password=secret"])
def test_no_password_is_stored(source):
    assert "secret" not in json.dumps(RunRequest(**FACTS, table="people", source=source).stored())


@pytest.mark.parametrize("source", ["@census", "postgres://ann@db.example/census"])
def test_an_address_without_a_password_is_stored_as_it_is(source):
    assert RunRequest(**FACTS, table="people", source=source).stored()["source"] == source


def test_a_file_of_another_version_or_of_another_kind_is_refused():
    with pytest.raises(InputError, match="another version"):
        RunRequest.read({**FACTS, "version": 2})
    with pytest.raises(InputError, match="holds no request that can be read"):
        RunRequest.read({"learns": ["age"], "epsilon": 1.0, "delta": 1e-5})


def test_a_waiting_job_is_run_as_its_folder_says(small, command, tmp_path):
    """As the application does it: the job's folder holds request and schema, the worker is given the folder alone."""
    table, schema = small
    request = RunRequest(**FACTS, table=table, method="independent", num_rows=5, dataset="club", seed=1)
    job = jobs.create(request.stored(), folder=tmp_path / "job")
    (job.path / "description.json").write_text(schema.read_text())
    code, out, stderr = command("run", "--json", "--job", job.path, "--approved-by", "bob")
    assert code == 0, stderr
    assert json.loads(out)["num_rows"] == 5
    assert (job.path / "release" / "synthetic.csv").exists()
    line = synth.Ledger().charge(job.run)
    assert (line.dataset, line.approved_by, line.epsilon) == ("club", "bob", 1.0)
    code, _, stderr = command("run", "--json", "--job", job.path)
    assert code == 2
    assert "has ended; start a new one" in stderr
    assert len([e for e in synth.Ledger().entries() if e.kind == "spend"]) == 1


def test_what_else_a_job_asks_for_is_done_as_its_folder_says(small, command, tmp_path):
    """Learning, statistics and another fit: as the application asks for them, by the job's folder alone."""
    table, schema = small
    facts = {**FACTS, "dataset": "club", "owner": "ann"}

    def done(request, name, description=None):
        job = jobs.create(request.stored(), folder=tmp_path / name)
        assert read(job.request()) == request
        if description is not None:
            (job.path / jobs.DESCRIPTION).write_text(json.dumps(description))
        code, out, stderr = command(*jobs.AS_ASKED, "--job", job.path)
        assert code == 0, stderr
        assert (job.status().state, job.status().exit_code) == ("done", 0)
        return job, json.loads(out)

    plain = json.loads(schema.read_text())
    kinds = {"columns": {n: {"type": c["type"]} for n, c in plain["columns"].items()}}
    job, _ = done(LearningRequest(**facts, table=table, learns=("age",)), "learn", kinds)
    assert synth.Schema.load(job.path / jobs.LEARNT).learnt.epsilon == 1.0
    assert synth.Ledger().charge(job.run).epsilon == 1.0

    job, said = done(StatisticsRequest(**facts, table=table, schema=schema, ask=("mean:age",), decides=("a",)), "count")
    assert json.loads((job.path / jobs.COUNTS).read_text())["statistics"] == said["statistics"]
    assert synth.Ledger().charge(job.run).epsilon == 1.0

    first, _ = done(RunRequest(**facts, table=table, method="independent", num_rows=5), "run", plain)
    spent = synth.Ledger().summary("club")[0].epsilon
    job, said = done(RefitRequest(release=str(first.path / "release"), num_rows=7, owner="ann"), "refit")
    assert (said["num_rows"], said["epsilon_spent"]) == (7, 0.0)
    assert len((job.path / "release" / "synthetic.csv").read_text().splitlines()) == 8
    assert synth.Ledger().summary("club")[0].epsilon == spent == 3.0


@pytest.mark.long
def test_a_report_on_a_databases_table_leaves_no_copy_of_it(small, command, tmp_path):
    table, schema = small
    with duckdb.connect(tmp_path / "d.duckdb") as con:
        con.execute(f"CREATE TABLE people AS SELECT * FROM read_csv('{table}', all_varchar=true)")
    source = {"table": "people", "source": f"duckdb:///{tmp_path / 'd.duckdb'}"}
    code, _, stderr = command(
        f"run people --source {source['source']} --schema {schema} --epsilon 1 --method "
        f"independent --out {tmp_path}/release --json"
    )
    assert code == 0, stderr
    request = ReportRequest(
        **source, release=str(tmp_path / "release"), reports="a", out=str(tmp_path / "p.html"), shadow_runs=40
    )
    job = jobs.create(request.stored(), folder=tmp_path / "job")
    assert read(job.request()) == request
    code, _, stderr = command(*jobs.AS_ASKED, "--job", job.path)
    assert code == 0, stderr
    page = next(tmp_path.glob("p*.html")).read_text()
    assert "steward" in page.lower()
    assert "2 x 40" in page[page.index("Membership by shadow runs") :]
    assert not list(tmp_path.rglob("copy.parquet"))
    copy = scratch.spill_folder() / "copy.parquet"  # of this process: gone with it, or with the next one's start
    assert copy.stat().st_mode & 0o777 == 0o600
    assert [e.epsilon for e in synth.Ledger().entries() if e.kind == "spend"] == [1.0]


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"task": "learn", **FACTS, "epsilon": -1}, "epsilon -1"),
        ({"task": "statistics", **FACTS, "decides": 3}, "`decides=`: "),
        ({"task": "refit"}, "`release=`: "),
        ({"task": "refit", "release": "r", "free": False}, "`free=`: "),
        ({"task": "fly"}, "another version"),
    ],
)
def test_a_damaged_request_of_another_task_is_one_line(plain, words):
    with pytest.raises(InputError, match=words) as caught:
        read(plain)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_request_is_refused_before_anything(command, tmp_path):
    code, _, stderr = command("run", "--job", tmp_path / "none")
    assert code == 2
    assert "no job here" in stderr
    job = jobs.create({"decides": []}, folder=tmp_path / "other")
    code, _, stderr = command("run", "--job", job.path)
    assert code == 2
    assert "holds no request that can be read" in stderr
    assert not synth.Ledger().entries()
