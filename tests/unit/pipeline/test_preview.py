"""Before the spend: what a run would take of priors, what they are worth, and the whole way on public rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import InputError, UsageError
from synth.pipeline.plan import worth
from synth.pipeline.priors import look
from synth.privacy.noise import SeededNoise
from synth.release.card.card import PREVIEW
from synth.report.steward.page import MARK
from tests.made import a_schema, codes, number, ran

SCHEMA = a_schema(
    age=number(0, 99), sex=codes("f", "m"), ill=codes("no", "yes", nullable=True), town=codes(*list("abcdefgh"))
)
WHY = "the yearbook's sample, says the office"
ASKED = {"prior_reason": WHY, "rows": 2000, "delta": 1e-5}


def people(num_rows: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 100, num_rows)
    town = (age // 13 + (rng.random(num_rows) < 0.3)) % 8
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["f", "m"], num_rows),
            "ill": np.where(rng.random(num_rows) < age / 120, "yes", "no"),
            "town": np.array(list("abcdefgh"))[town],
        }
    )


@pytest.fixture
def older(tmp_path):
    path = tmp_path / "older.csv"
    people(3000, 1).to_csv(path, index=False)
    return path


def test_a_prior_is_looked_at_as_a_run_would_take_it(older, tmp_path):
    other = tmp_path / "other.csv"
    people(50, 2).rename(columns={"town": "Towns"}).assign(sex="?", more=1).to_csv(other, index=False)
    strange = tmp_path / "strange.csv"
    strange.write_text("a\n1\n")
    result = look([older, other, strange, tmp_path / "nowhere.csv"], schema=SCHEMA, prior_reason=WHY)
    assert (result[0].rows, result[0].columns, result[0].lacking, result[0].lost) == (
        3000,
        tuple(SCHEMA.columns),
        (),
        {},
    )
    assert (result[1].lacking, result[1].left_out) == (("town",), ("Towns", "more"))
    assert result[1].alike == {"Towns": "town"}
    assert result[1].lost == {"sex": 50}
    assert "has none of the schema's columns" in result[2].refused
    assert "nowhere.csv" in result[3].refused
    assert "say why it is public" in look([older], schema=SCHEMA)[0].refused
    assert "takes no public data" in look([older], schema=SCHEMA, prior_reason=WHY, method="aim")[0].refused


def test_the_worth_of_a_prior_is_what_a_run_then_reaches(older):
    """The private rows are other people of the same town. The noise is seeded: no chance is in the figures."""
    (reported,) = worth(SCHEMA, [older], epsilons=[0.3], **ASKED)
    assert reported.beside.pairs < 0.7 * reported.without.pairs
    private = people(2000, 9)
    reached = {}
    for name, prior in (("without", []), ("beside", [older])):
        made = ran(
            private,
            SCHEMA,
            epsilon=0.3,
            dataset=name,
            noise=SeededNoise(1),
            separate=True,
            seed=0,
            prior=prior,
            prior_reason=WHY,
            num_rows=2000,
        ).frame
        reached[name] = _off(private, made)
    assert reached["beside"] < reached["without"]
    for name in reached:
        assert 0.5 < getattr(reported, name).pairs / reached[name] < 2
    assert "instead of" in reported.in_words()


def _off(real: pd.DataFrame, made: pd.DataFrame) -> float:
    """Mean share of rows that would have to change in tables of two columns."""
    cut = [t.assign(age=t["age"].astype(int) // 9).astype(str) for t in (real, made)]
    names = list(SCHEMA.columns)
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    each = [[t[a].str.cat(t[b], sep="|", na_rep="").value_counts(normalize=True) for t in cut] for a, b in pairs]
    return float(np.mean([first.sub(second, fill_value=0).abs().sum() / 2 for first, second in each]))


def test_the_forecast_says_what_a_prior_is_worth_and_refuses_what_a_run_refuses(older):
    reported = synth.plan(SCHEMA, epsilon=0.5, prior=[older], **ASKED)
    assert reported.prior.like == "older.csv"
    assert "as if the table were like older.csv (4 columns)" in reported.in_words()
    assert reported.plain()["prior"]["beside"]["pairs"] > 0
    assert synth.plan(SCHEMA, rows=2000, epsilon=0.5, delta=1e-5).prior is None
    with pytest.raises(UsageError, match="say why it is public"):
        synth.plan(SCHEMA, rows=2000, epsilon=0.5, delta=1e-5, prior=[older])


def test_a_preview_is_the_whole_way_marked_on_every_page_and_charged_to_nobody(older, tmp_path):
    out = tmp_path / "preview"
    result = synth.app_api.preview(SCHEMA, out, prior=[older], epsilon=1.0, **ASKED, seed=1)
    assert not synth.Ledger().entries()
    pages = {p.name for p in out.rglob("*.html")}
    assert pages == {"card.html", "report.html", "comparison.html"}
    for page in out.rglob("*.html"):
        text = page.read_text()
        assert f'<div class="mark" role="note">{PREVIEW}</div>' in text, page.name
        assert MARK not in text, page.name
    card = json.loads((out / "release" / "card.json").read_text())
    assert card["preview"]["statement"].startswith(PREVIEW)
    assert card["priors"][0]["name"] == "older.csv"
    assert len(pd.read_csv(out / "public_twin.csv")) == 2000
    assert result.statement == card["preview"]["statement"]
    _no_release(out / "release", tmp_path)


def _no_release(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="of a preview, made of public rows only"):
        synth.bundle(place, tmp_path / "b.zip")
    with pytest.raises(InputError, match="of a preview"):
        synth.check(place)
    with pytest.raises(InputError, match="of a preview"):
        synth.run(people(300, 0), schema=SCHEMA, epsilon=1.0, delta=1e-5, dataset="d", prior=place)


def test_a_preview_refuses_what_the_run_refuses_and_needs_public_rows(older, tmp_path):
    def refused(words, **options):
        with pytest.raises(UsageError, match=words):
            synth.app_api.preview(SCHEMA, tmp_path / "p", **{**ASKED, "prior": [older], "epsilon": 1.0, **options})

    refused("name a public table or an earlier release", prior=[])
    refused("method aim takes no public data", method="aim")
    refused("say why it is public", prior_reason=None)


def test_a_preview_has_columns_that_the_prior_lacks_and_persons(tmp_path):
    path = tmp_path / "few.csv"
    people(200, 1)[["age", "sex"]].to_csv(path, index=False)
    facts = synth.Schema.parse(
        {**json.loads(SCHEMA.to_json()), "unit": "who", "max_rows": 2}
        | {"columns": {"who": {"type": "identifier"}, **json.loads(SCHEMA.to_json())["columns"]}}
    )
    result = synth.app_api.preview(facts, tmp_path / "p", prior=[path], epsilon=1.0, **ASKED)
    assert list(result.result.frame.columns) == ["who", *SCHEMA.columns]
