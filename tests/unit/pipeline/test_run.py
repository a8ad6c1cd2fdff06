"""The way of a run: refused before the spend, or charged, carried out and told; the same for tables and statistics."""

import json
import re

import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.prepare import Context, planned, prepare
from synth.pipeline.reporting import Quiet
from synth.pipeline.request import RunRequest
from synth.pipeline.run import carry_out, requested
from synth.pipeline.statistics import statistics
from synth.privacy.noise import SeededNoise
from synth.report.publish import gather
from synth.report.publishable import means
from tests.conftest import SMALL

SCHEMA = synth.Schema.parse(SMALL)
FACTS = {"epsilon": 1.0, "delta": 1e-5, "method": "independent", "dataset": "d"}


def spends():
    return [e for e in synth.Ledger().entries() if e.kind == "spend"]


def reported(plain):
    return {k: v for k, v in plain.items() if k not in ("seconds", "seconds_total", "peak_mib")}


def test_the_function_and_the_request_are_the_same_run(small):
    table, _ = small
    one = synth.run(table, schema=SCHEMA, **FACTS, num_rows=20, seed=1, noise=SeededNoise(3))
    request, context = requested(table, **FACTS, num_rows=20, seed=1, noise=SeededNoise(3))
    other = carry_out(request, SCHEMA, context)
    assert reported(one.plain()) == reported(other.plain())
    assert one.frame.equals(other.frame)
    lines = [e.question for e in spends()]
    assert len(lines) == 2
    assert lines[0] == lines[1]


def test_a_finished_plan_says_what_will_be_spent_and_spends_nothing(small):
    table, _ = small
    notes, told = [], Quiet()
    told.note = notes.append
    plan = prepare(RunRequest(**FACTS, table=table), SCHEMA, Context(reporter=told))
    spend = plan.spend(noise_source="system")
    assert (spend.epsilon, spend.dataset, spend.question["method"]) == (1.0, "d", "independent")
    assert "nothing is capped" in notes[0]
    assert spends() == []


def test_a_plan_reads_nothing_of_a_table(tmp_path):
    """Only whether there is one; its header and rows are looked at later."""
    (tmp_path / "t.csv").write_text("not,the,columns\n")
    plan = planned(RunRequest(**FACTS, table=tmp_path / "t.csv"), SCHEMA, Context())
    with pytest.raises(InputError, match=r"t\.csv"):
        plan.rows["synthetic"].place.check_form(["age"])
    with pytest.raises(InputError, match="nowhere"):
        planned(RunRequest(**FACTS, table=tmp_path / "nowhere.csv"), SCHEMA, Context())


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"method": "magic"}, "method 'magic' is unknown"),
        ({"relation": "friendship"}, "relation 'friendship' is unknown"),
        ({"target": "nobody"}, "`target=nobody`"),
        ({"learn_share": 2.0}, "`learn_share=2.0`"),
        ({"ask": ("mean:age",)}, "`ask=`: is no option of a run"),
        ({"table": None}, "`table=` is missing"),
        ({"no_such": 1}, "`no_such=`"),
    ],
)
def test_refusals_name_the_option_and_leave_no_trace(small, options, error):
    facts = {**FACTS, "table": small[0], **options}
    with pytest.raises(UsageError, match=error):
        prepare(RunRequest(**facts), SCHEMA, Context())
    assert synth.Ledger().entries() == []


@pytest.mark.parametrize("schema", ["my.schema.json", {"columns": {}}, None])
def test_a_schema_that_was_not_read_is_told_how_to_read_it(small, schema):
    with pytest.raises(UsageError, match=r"synth\.Schema\.load\(path\)"):
        synth.run(small[0], schema=schema, epsilon=1.0, delta=1e-5)


def test_statistics_go_the_way_of_a_run(small):
    table, _ = small
    result = statistics(table, schema=SCHEMA, ask=["mean:age"], epsilon=0.5, delta=1e-5, dataset="d", run="an-id")
    assert result.card["method"] == "statistics"
    line = synth.Ledger().charge("an-id")
    assert (line.epsilon, line.question["method"]) == (0.5, "statistics")


def test_every_option_of_the_command_is_a_field_of_the_request():
    from synth.cli import commands

    options = {p.name for p in commands().commands["run"].params} - {"from_release", "job", "source_table", "as_json"}
    told = {field.serialization_alias or name for name, field in RunRequest.model_fields.items() if field.description}
    assert options | {"ask", "actor", "run", "owner", "label"} == told


def test_the_command_and_the_library_write_one_form_of_request(small, command, tmp_path):
    table, schema = small
    code, _, _ = command(
        f"run {table} --schema {schema} --epsilon 1 --method independent --dataset d --num-rows "
        f"5 --out {tmp_path}/out --job {tmp_path}/job"
    )
    assert code == 0
    stored = json.loads((tmp_path / "job" / "request.json").read_text())
    assert RunRequest.read(stored).stored() == stored


def test_after_a_run_the_terminal_says_how_near_the_table_is_to_what_was_released(small, command, tmp_path):
    table, schema = small
    code, stdout, _ = command(
        f"run {table} --schema {schema} --epsilon 1 --method independent --dataset d --out {tmp_path}/out"
    )
    assert code == 0
    said = next(line for line in stdout.splitlines() if line.startswith("columns: "))
    result = means(gather(tmp_path / "out"))["one_way"]
    assert said == (
        f"columns: {100 * result['distance']:.2g} % of the rows differ from the noisy counts; "
        f"noise alone explains {100 * result['from_noise']:.2g} %"
    )
    assert "pairs: " not in stdout, "no pairs were asked for"


def test_called_without_a_part_it_says_the_usual_way_or_the_groups_help(command):
    from synth.cli import app

    known = {c.name or c.callback.__name__ for c in app.registered_commands} | {g.name for g in app.registered_groups}
    code, stdout, _ = command()
    assert code == 2
    shown = re.findall(r"^  synth (\w+)", stdout, re.MULTILINE)
    assert shown == ["schema", "plan", "run", "report"]
    assert set(shown) <= known
    code, stdout, _ = command("ledger")
    assert code == 2
    assert len(stdout.splitlines()) > 8, "a help of several lines, not one"
