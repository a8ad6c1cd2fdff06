"""Several tables from one release: free, as far apart as the noise, and combined by the rule of docs/inference.md."""

import html
import json
import re
import shutil
import subprocess
import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest

import synth
from synth.pipeline import combining, multiple
from synth.privacy.ledger.ledger import Ledger
from tests.conftest import ROOT, Keyed, small_frame
from tests.made import binary, facts_of, number

SCHEMA = facts_of(age=number(0, 99), sex=binary("f", "m"), ill=binary("no", "yes")) | {"dataset": "d"}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """By epsilon a release of the same rows, and the ledger. Their noise is fixed: a test below is of one release's."""
    place = tmp_path_factory.mktemp("multiple")
    rows = small_frame(2000)[["age", "sex", "ill"]]
    for epsilon in (0.2, 20.0):
        synth.run(
            rows,
            schema=synth.Schema.parse(SCHEMA),
            epsilon=epsilon,
            delta=1e-5,
            out=place / f"{epsilon:g}",
            ledger=place / "ledger.sqlite",
            seed=1,
            noise=Keyed(3),
        )
    return place


@cache
def spread(place, tables=8):
    """Deviation of the tables' share of the ill."""
    return np.std([(t["ill"] == "yes").mean() for t in synth.app_api.multiple(place, count=tables, seed=2)])


@pytest.mark.long
def test_tables_differ_as_the_noise_does_and_cost_nothing(releases):
    loud, quiet = spread(releases / "0.2"), spread(releases / "20")
    assert loud > 4 * quiet  # the noise is a hundred times as large; evened rows leave some chance of their own
    charged = [e.epsilon for e in Ledger(releases / "ledger.sqlite").entries() if e.epsilon]
    assert charged == [0.2, 20.0]


@pytest.mark.long
def test_noise_drawn_again_is_as_large_as_the_releases_own(releases):
    """The share's spread over tables against the noise of the best count of that column, by a factor of three."""
    stored = multiple.folder.load_release(releases / "0.2")
    tables = [
        m
        for r in stored.releases
        if hasattr(r.question, "marginals")
        for m in r.question.marginals
        if "ill" in m.columns
    ]
    precision = sum(1 / (m.sigma**2 * m.cells / 2) for m in tables)
    noise = np.sqrt(0.5 / precision) / 2000  # of a share, with the sum of both cells known well
    assert noise / 3 < spread(releases / "0.2") < 3 * noise


def test_the_same_seed_gives_the_same_tables_and_files(releases, tmp_path, command):
    first, again = ([*synth.app_api.multiple(releases / "20", count=2, num_rows=50, seed=5)] for _ in range(2))
    assert all(a.equals(b) for a, b in zip(first, again, strict=True))
    assert not first[0].equals(first[1])
    code, out, _ = command(
        f"sample {releases}/20/model.json --multiple 2 --num-rows 50 --seed 5 --out {tmp_path}/t --json"
    )
    assert code == 0
    paths = json.loads(out)["paths"]["tables"]
    assert [p.rpartition("/")[2] for p in paths] == ["1.csv", "2.csv"]
    assert pd.read_csv(paths[1])["age"].tolist() == first[1]["age"].tolist()


def test_what_cannot_be_done_is_refused_in_one_line(releases, tmp_path, command):
    synth.run(
        small_frame(100)[["age", "sex", "ill"]],
        schema=synth.Schema.parse(SCHEMA),
        epsilon=1.0,
        delta=1e-5,
        out=tmp_path / "other",
        ledger=tmp_path / "l.sqlite",
        method="independent",
    )
    for place, *options in ((tmp_path / "other",), (releases / "20", "--where", "sex=f"), (tmp_path / "nowhere",)):
        code, _, stderr = command("sample", place, "--multiple", 3, *options, "--out", tmp_path / "t")
        assert code == 2, stderr
        assert len(stderr.splitlines()) == 1
    assert command("sample", releases / "20", "--multiple", 1, "--out", tmp_path / "t")[0] == 2


def test_the_rule_is_rubins():
    rng = np.random.default_rng(0)
    reported, own = rng.normal(size=(20, 3)), rng.random((20, 3))
    result = synth.combine(reported, own)
    between = reported.var(0, ddof=1)
    assert np.allclose(result.variance, own.mean(0) + 1.05 * between)
    assert np.allclose(result.df, 19 * (1 + own.mean(0) / (1.05 * between)) ** 2)
    assert np.allclose((result.low + result.high) / 2, reported.mean(0))
    same = synth.combine([2.0, 2.0], [1.0, 1.0])
    assert same.high - same.low == pytest.approx(2 * 1.959964, abs=1e-4)  # no noise: the usual interval


def test_intervals_of_the_rule_cover_where_its_argument_holds():
    """Gaussian sampling and noise, 20 draws of the noise alone: 3,000 repetitions of a nominal 95 %."""
    rng = np.random.default_rng(1)
    repetitions, draws = 3000, 20
    centre = rng.normal(0, 1.0, repetitions) + rng.normal(0, 2.0, repetitions)  # sampling, then noise
    reported = centre + rng.normal(0, 2.0, (draws, repetitions))
    result = synth.combine(reported, np.ones((draws, repetitions)))
    hit = np.mean((result.low <= 0) & (result.high >= 0))
    assert abs(hit - 0.95) < 4.9 * np.sqrt(0.95 * 0.05 / repetitions)
    narrow = np.mean(np.abs(reported.mean(0)) <= 1.96)  # as if the rows were real: the evil twin
    assert narrow < 0.8


@pytest.mark.parametrize(
    "wrong", [([1.0], [1.0]), ([1.0, 2.0], [1.0]), ([1.0, np.nan], [1.0, 1.0]), ([1.0, 2.0], [1.0, -1.0])]
)
def test_estimates_that_cannot_be_combined_are_refused(wrong):
    with pytest.raises(synth.UsageError, match="combine"):
        synth.combine(*wrong)


def test_it_warns_of_what_was_not_measured(releases):
    with pytest.warns(combining.BeyondMeasured, match="not counted in one table|in at most"):
        result = synth.combine([1.0, 2.0], [1.0, 1.0], release=releases / "0.2", columns=["age", "sex", "ill"])
    assert result.warnings
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert synth.combine([1.0, 2.0], [1.0, 1.0], release=releases / "0.2", columns=["sex"]).warnings == ()
    assert synth.app_api.beyond(releases / "0.2", ["sex", "ill"]) == ()
    with pytest.raises(synth.UsageError, match="nothing"):
        synth.app_api.beyond(releases / "0.2", ["nothing"])


@pytest.mark.long
def test_the_pages_examples_run(releases, monkeypatch, capsys):
    monkeypatch.chdir(releases)
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "inference.md").read_text(), re.S):
        exec(
            compile(code.replace('"release"', '"20"').replace("count=20", "count=3"), "inference.md", "exec"), names
        )  # the page is ours
    reported = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[0] for line in reported[:4]] == ["age", "1", "age", "sex=m"]
    assert len(reported[-1]) == 3  # combined: estimate and interval


PAGES = {"docs/inference.md": r"```r\n(.*?)```", "synth/report/templates/index.html": r"<code>(files .*?)</code>"}


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed (Debian's r-base-core)")
@pytest.mark.parametrize("page", PAGES)
def test_the_lines_for_r_give_the_same_interval(tmp_path, page):
    """What recipients are told to run in R, on files with missing cells, against ``synth.combine``."""
    (tmp_path / "tables").mkdir()
    rng, tables = np.random.default_rng(0), []
    for i in range(5):
        tables.append(pd.DataFrame({"id no": range(90), "age": rng.normal(40 + rng.normal(), 9, 90)}))
        tables[-1].loc[:i, "age"] = np.nan
        tables[-1].to_csv(tmp_path / "tables" / f"{i}.csv", index=False)
    code = html.unescape(re.search(PAGES[page], (ROOT / page).read_text(), re.S).group(1)).replace("COLUMN", "age")
    ended = subprocess.run(
        ["Rscript", "--vanilla", "-"],
        input=f"options(digits = 15)\n{code}",
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=True,
        timeout=120,
    )
    ages = [t["age"] for t in tables]
    result = synth.combine([a.mean() for a in ages], [a.var() / a.count() for a in ages])
    assert [float(x) for x in ended.stdout.split()[1:]] == pytest.approx([result.low, result.high], rel=1e-9)
