"""A cap caps: the command finds the dataset that a run charges, and an installation may require a cap."""

import json
import shutil
from pathlib import Path

import pytest

import synth
from synth.errors import BudgetError, InputError
from synth.privacy.ledger import policy
from synth.privacy.ledger.ledger import Ledger
from tests.faults.deeds import charge

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture
def town(tmp_path):
    for name in ("town_survey.csv.gz", "town_survey.schema.json"):
        shutil.copy(DATA / name, tmp_path / name)
    return tmp_path / "town_survey.csv.gz"


def test_the_documented_command_caps_what_a_run_charges(command, town, tmp_path):
    """It capped the file's path, while the run charged the name in the schema."""
    code, out, stderr = command("ledger", "policy", town, "--max-epsilon", "0.5", "--new")
    assert (code, out) == (0, "town-survey: at most epsilon 0.5 and delta 0.001 over all runs\n"), stderr
    run = ["run", town, "--schema", tmp_path / "town_survey.schema.json", "--epsilon", "1", "--out", tmp_path / "o"]
    code, _, stderr = command(*run)
    assert code == 4
    assert "dataset 'town-survey': requested epsilon 1, remaining 0.5" in stderr
    assert [(t.dataset, t.runs) for t in Ledger().summary()] == [("town-survey", 0)]


def test_a_new_name_is_said_to_be_new_and_asked_for(command, town, tmp_path):
    (tmp_path / "town_survey.schema.json").unlink()
    for more in ([], ["--dataset", "town-surevy"]):
        code, _, stderr = command("ledger", "policy", town, "--max-epsilon", "0.5", *more)
        assert code == 2
        assert "is new: nothing was ever charged to it" in stderr
        assert "--new" in stderr
    assert Ledger().summary() == []
    assert "nothing was ever charged" in command("ledger", "policy", "--dataset", "d")[1]
    Ledger().spend(charge("d", 0.1))
    assert command("ledger", "policy", "--dataset", "D", "--max-epsilon", "0.5")[0] == 0
    assert Ledger().summary("d")[0].remaining_epsilon == 0.4


def test_no_cap_is_recorded_and_shown(command):
    assert command("ledger", "policy", "--dataset", "d", "--no-cap", "--new")[0] == 0
    assert Ledger().policy("d").uncapped
    assert "nothing is capped, as" in command("ledger", "policy", "--dataset", "d")[1]
    assert json.loads(command("ledger", "policy", "--dataset", "d", "--json")[1])["policy"]["max_epsilon"] is None
    assert command("ledger", "policy", "--dataset", "d", "--no-cap", "--max-epsilon", "1")[0] == 2


@pytest.mark.parametrize("asked", [["show"], ["verify"], ["policy", "--dataset", "d"]])
def test_a_ledger_that_is_not_there_is_not_made_by_looking(command, asked, tmp_path):
    """A mistyped name gave an empty ledger that said nothing was spent, and that a restore would take for a backup."""
    missing = tmp_path / "ledgre.sqlite"
    code, _, stderr = command("ledger", *asked, "--ledger", missing)
    assert code == 2
    assert f"ledger {missing}: no such file" in stderr
    assert not missing.exists()


def test_the_lines_come_in_pages(command):
    for _ in range(5):
        Ledger().spend(charge("d", 0.1))
    out, _ = command.done("ledger", "show", "--last", "2", "--page", "2")
    assert "2 of 5 lines, page 2 of 3" in out
    assert [line.split()[0] for line in out.splitlines()[2:]] == ["2", "3"]
    answer = json.loads(command("ledger", "show", "--json", "--last", "2")[1])
    assert ([e["number"] for e in answer["entries"]], answer["lines"]) == ([4, 5], 5)
    assert command("ledger", "show", "--page", "0")[0] == 2


@pytest.mark.parametrize("how", ["variable", "file", "usual file"])
def test_an_installation_may_require_a_cap(monkeypatch, tmp_path, how):
    book = Ledger()
    book.spend(charge("d", 0.1))
    rule = tmp_path / "facsimile" / "config.toml"
    rule.parent.mkdir()
    rule.write_text("[budget]\nrequire_cap = true\n")
    name, value = {
        "variable": ("SYNTH_REQUIRE_CAP", "yes"),
        "file": ("SYNTH_CONFIG", str(rule)),
        "usual file": ("XDG_CONFIG_HOME", str(tmp_path)),
    }[how]
    monkeypatch.setenv(name, value)
    for uncapped in (False, True):
        if uncapped:
            book.set_policy("d", max_epsilon=None)
        for attempt in (book.check, book.spend):
            with pytest.raises(BudgetError, match=r"requires one; set it with `synth.Ledger.set_policy\(dataset='d'"):
                attempt(charge("d", 0.1))
    book.set_policy("d", max_epsilon=1)
    book.spend(charge("d", 0.1))
    assert book.summary("d")[0].epsilon == 0.2


@pytest.mark.parametrize(
    "text",
    [
        "[budget]\nrequire-cap = true",
        "[buget]\n",
        "budget = 1",
        "require_cap = 'yes'",
        "[budget]\nrequire_cap = 1",
        "not toml",
        "\ufeff\x00",
    ],
)
def test_a_rule_that_cannot_be_read_is_no_permission(monkeypatch, tmp_path, text):
    (tmp_path / "c.toml").write_text(text)
    monkeypatch.setenv("SYNTH_CONFIG", str(tmp_path / "c.toml"))
    for attempt in (Ledger().check, Ledger().spend):
        with pytest.raises(InputError, match="configuration"):
            attempt(charge("d", 0.1))
    monkeypatch.setenv("SYNTH_CONFIG", str(tmp_path / "none.toml"))
    with pytest.raises(InputError, match="configuration"):
        policy.cap_required()
    monkeypatch.setenv("SYNTH_REQUIRE_CAP", "perhaps")
    with pytest.raises(InputError, match="must be yes or no"):
        policy.cap_required()


def test_the_rules_of_a_dataset_hold_for_every_spelling_of_its_name(tmp_path):
    """A description that wrote an accent of its own passed the rules, and its cap of 9 replaced that of 0.4."""
    (tmp_path / "roles.toml").write_text('[budget]\nmax_epsilon = 9\n[datasets."caf\u00e9"]\nmax_epsilon = 0.4\n')
    rules = synth.app_api.roles.load(tmp_path / "roles.toml")
    for name in ("caf\u00e9", "cafe\u0301", "CAF\u00c9"):
        rules.put_down(Ledger(), name)
        assert Ledger().policy("caf\u00e9").max_epsilon == 0.4
    (tmp_path / "roles.toml").write_text('[datasets."caf\u00e9"]\nmax_epsilon = 0.4\n[datasets."cafe\u0301"]\n')
    with pytest.raises(InputError, match="spellings of one"):
        synth.app_api.roles.load(tmp_path / "roles.toml")


def test_a_job_has_an_id_that_its_charge_carries(command, small, tmp_path):
    """Two runs of one dataset, size and time: each finds its own charge."""
    table, schema = small
    jobs = [synth.app_api.jobs.create({"epsilon": 1.0}, folder=tmp_path / str(i)) for i in range(2)]
    for job in reversed(jobs):
        command.done(
            f"run {table} --schema {schema} --method independent --epsilon 1 --out {job.path}/release --job {job.path}"
        )
    lines = [Ledger().charge(job.run) for job in jobs]
    assert lines[0].number > lines[1].number
    assert [line.run for line in lines] == [job.run for job in jobs]
    (jobs[0].path / "run").unlink()
    assert jobs[0].run is None
