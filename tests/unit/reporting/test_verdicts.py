"""One verdict: the rule says what a statistician would, and every page, file and command says what the rule does."""

import json
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synth
from synth.evaluate.verdict import AMOUNTS, CARE, DISTANCES, GOOD, LEVELS, LIMITS, NOT, WORSE, Limit, rate, rate_score
from synth.generators.core.problem import misfit_in_words
from synth.questions import Bins
from synth.report.noisy_tables import NoisyTable
from synth.report.publishable import Average
from tests.made import ID, a_schema, binary, codes, facts_of, number, ran

CASES = tomllib.loads(Path(__file__).with_name("verdicts.toml").read_text(encoding="utf-8"))["case"]


def _rated(case):
    ratio = case.get("fit")
    fitted = ratio is None or misfit_in_words({"ratio": ratio, "pairs": ratio}) is None
    if case["use"] == "prediction":
        result = rate_score(case["score"], case["figure"], case["real"], floor=case.get("floor"))
        return ("-", "") if result is None else result
    beside = {n: case[n] for n in ("second", "independent", "low") if n in case}
    return rate(LIMITS[case["use"]], case["figure"], digits=3 if beside else 2, fitted=fitted, **beside)


@pytest.mark.parametrize("case", CASES, ids=[f"{c['use']}: {c['why']}" for c in CASES])
def test_the_verdict_is_a_statistician_s(case):
    assert _rated(case)[0] == case["verdict"]


def test_there_are_thirty_cases_and_each_use_has_some():
    assert len(CASES) >= 30
    assert {c["use"] for c in CASES} == {*LIMITS} - {"regression"}
    assert {c["verdict"] for c in CASES} == {*LEVELS, "-"}


@pytest.mark.parametrize("name", DISTANCES | AMOUNTS)
def test_a_verdict_never_gets_better_as_the_figure_gets_worse_or_the_second_sample_better(name):
    levels = {
        (v, s): LEVELS.index(rate(LIMITS[name], v, second=s)[0])
        for v in np.linspace(0, 1, 101)
        for s in (0.0, 0.02, 0.1, 0.3, 1.0)
    }
    for s in (0.0, 0.02, 0.1, 0.3, 1.0):
        ranks = [levels[v, s] for v in np.linspace(0, 1, 101)]
        assert ranks == sorted(ranks)
    for v in np.linspace(0, 1, 101):
        ranks = [levels[v, s] for s in (1.0, 0.3, 0.1, 0.02, 0.0)]
        assert ranks == sorted(ranks)
    assert rate(LIMITS[name], 0.5, second=0.5)[0] == NOT, "no second sample makes a half of the rows good"


def test_figures_that_are_shown_alike_are_rated_alike():
    limit = Limit(0.02, 0.08, 0.10, 0.20)
    assert rate(limit, 0.02049) == rate(limit, 0.0200)
    assert rate_score("auc", 0.9251, 0.9549) == rate_score("auc", 0.93, 0.95)


PUBLIC = {"source": "public"}
PEOPLE = {"dataset": "one", "target": "smokes"} | facts_of(
    age=number(0, 99, **PUBLIC), days=number(0, 400, nullable=True, **PUBLIC), smokes=binary("no", "yes", **PUBLIC)
)


def _people(rows=3000, *, seed=0, times=1):
    """Nine of ten ``days`` are empty; ``times``: by how much the others are multiplied."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    days = np.where(rng.random(rows) < 0.9, "", (rng.poisson(40, rows) * times).astype(str))
    return pd.DataFrame({"age": age, "days": days, "smokes": np.where(rng.random(rows) < age / 120, "yes", "no")})


def test_a_column_that_is_mostly_empty_does_not_hide_behind_its_empty_cells(tmp_path):
    schema = synth.Schema.parse(PEOPLE)
    _people(seed=0).to_csv(tmp_path / "real.csv", index=False)
    for times, level in ((1, GOOD), (2, CARE)):
        _people(seed=1, times=times).to_csv(tmp_path / "made.csv", index=False)
        result, said = synth.app_api.appraise(tmp_path / "real.csv", tmp_path / "made.csv", schema)
        (use,) = (u for u in said.uses if u.name == "columns")
        numbers = result.one_way["days"].numbers
        assert numbers.missing == pytest.approx((0.9, 0.9), abs=0.03)
        assert numbers.mean[1] / numbers.mean[0] == pytest.approx(times, rel=0.05)
        assert any(b.name == "days" for b in use.but) == (times == 2)
        assert use.level == level or times == 2
        if times == 2:
            assert use.level != GOOD
            assert said.worst["column"][0].names == ("days",)
            assert said.worst["column"][0].distance > 0.5
            assert result.one_way["days"].distance < 0.15, "of all rows it is little"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("verdicts")
    _people().to_csv(home / "real.csv", index=False)
    how = {"epsilon": 3.0, "dataset": None, "method": "mixture", "ledger": home / "ledger.sqlite"}
    ran(home / "real.csv", PEOPLE, out=home / "release", **how)
    return home


def test_page_report_and_command_say_the_same_of_one_release(made, command, tmp_path):
    release, real = made / "release", made / "real.csv"
    schema = synth.Schema.load(release / "schema.json")
    card = json.loads((release / "card.json").read_text())
    _, page = synth.app_api.appraise(real, release / "synthetic.csv", schema, fit=card.get("fit"))
    out = tmp_path / "report.html"
    options = ("--real", str(real), "--out", str(out), "--ledger", str(made / "ledger.sqlite"))
    parsed = json.loads(command("report", str(release), *options, "--json")[1])
    stored = json.loads(Path(parsed["paths"]["report_json"]).read_text())
    assert json.loads(json.dumps(page.plain())) == parsed["verdict"] == stored["verdict"]
    words = Path(parsed["paths"]["report"]).read_text()
    for use in page.uses:
        assert use.shown[0] in words


def test_what_leaves_follows_from_the_release_alone(made, tmp_path):
    """The same verdict without the real table: it cannot have been looked at."""
    before = synth.app_api.released_verdict(made / "release")
    (made / "real.csv").rename(tmp_path / "away.csv")
    try:
        assert synth.app_api.released_verdict(made / "release") == before
    finally:
        (tmp_path / "away.csv").rename(made / "real.csv")


def test_a_fit_that_did_not_reach_its_answers_is_nowhere_called_good(made):
    schema = synth.Schema.load(made / "release" / "schema.json")
    real = made / "real.csv"
    _, said = synth.app_api.appraise(real, real, schema, fit={"ratio": 3.0, "pairs": 1.0})
    assert not said.at(GOOD)
    assert "3.00 times" in said.unsure
    _, said = synth.app_api.appraise(real, real, schema, fit={"ratio": 1.1, "pairs": 1.1})
    assert said.at(GOOD)
    assert not said.unsure


def test_related_tables_whose_children_are_anybody_s_are_not_to_be_used(tmp_path):
    colour, key = codes("red", "blue", **PUBLIC), {"parent": "homes", "child": "people", "columns": ["home"]}
    tables = {"homes": facts_of(home=ID, a=colour), "people": facts_of(home=ID, b=colour)}
    schema = synth.app_api.parse_related({"dataset": "pairs", "tables": tables, "keys": [{**key, "most_children": 2}]})
    rng = np.random.default_rng(5)
    a = rng.choice(["red", "blue"], 900)
    other = np.where(a == "red", "blue", "red")
    for name, b in (("real", a), ("opposed", other), ("anybody", rng.permutation(a)), ("alike", a)):
        (tmp_path / name).mkdir()
        homes = pd.DataFrame({"home": range(900), "a": a})
        homes.to_csv(tmp_path / name / "homes.csv", index=False)
        people = pd.DataFrame({"home": np.repeat(range(900), 2), "b": np.repeat(b, 2)})
        people.to_csv(tmp_path / name / "people.csv", index=False)
    levels = {}
    for name in ("opposed", "anybody", "alike"):
        said = synth.app_api.appraise_related(tmp_path / "real", tmp_path / name, schema).verdict
        levels[name] = {u.use: (u.level, u.why) for u in said.uses}[
            "relations: columns of people with those of tables above"
        ]
    assert levels["opposed"] == (NOT, WORSE)
    assert levels["anybody"][0] == NOT
    assert levels["alike"][0] == GOOD


@pytest.mark.parametrize(("column", "change"), [("age", lambda v: v + 15), ("age", lambda v: 50 + (v - 50) / 3)])
def test_what_leaves_praises_no_average_that_the_released_counts_speak_against(made, tmp_path, column, change):
    def average():
        (use,) = (u for u in synth.app_api.released_verdict(release).uses if u.name == "averages")
        return use

    release = tmp_path / "release"
    shutil.copytree(made / "release", release)
    assert not any(column == part.name for part in average().but)
    rows = pd.read_csv(release / "synthetic.csv", dtype=str, keep_default_na=False)
    rows[column] = change(rows[column].astype(float)).clip(0, 99).round().astype(int)
    rows.to_csv(release / "synthetic.csv", index=False)
    assert average().level == NOT or any(column == part.name for part in average().but)
    assert average().remedy


def test_how_far_a_mean_is_off_lies_between_the_ends_that_are_told_in_nineteen_of_twenty():
    """Amounts with a long tail, where noise of a single count moves the mean more than rows do."""
    rng, column = np.random.default_rng(11), a_schema(a=number(0, 60)).columns["a"]
    law = np.append(0.9 * 0.7 ** np.arange(60), 0.004)
    synthetic = rng.choice(61, 20_000, p=law / law.sum())
    exact = np.bincount(rng.choice(61, 20_000, p=law / law.sum()), minlength=61).astype(float)
    off = abs(exact @ np.arange(61) / exact.sum() - synthetic.mean()) / synthetic.std()
    bins = (Bins(column="a", cells=61, starts=np.arange(61), groups=np.arange(61)),)
    inside = []
    for _ in range(2000):
        table = NoisyTable(bins=bins, values=exact + 15 * rng.standard_normal(61), sigma=15.0)
        low, high = Average.of(table, column, synthetic).off
        inside.append(low <= off <= high)
    assert 0.93 < np.mean(inside) < 0.985
