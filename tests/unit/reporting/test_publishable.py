"""The publishable report: figures of the release alone, intervals that cover, and honest words where there are none."""

import dataclasses
import json

import numpy as np
import pytest
from pages import check
from report_release import report_release  # noqa: F401

import synth
from synth.questions import Bins, Block, Counts, CountsRelease, Encoding, Marginal, Slices, SlicesRelease
from synth.release import folder
from synth.release.card.card import Card
from synth.report import publish, publishable
from synth.report.noisy_tables import ComparedTable, NoisyTable, tables, total
from synth.schema import table as schemas
from synth.schema.dataset import ONE
from tests.conftest import SMALL, small_frame


def test_the_page_needs_nothing_but_itself_and_costs_nothing(release, tmp_path):
    paths = publish.write(release[0], tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text()
    check(text)
    assert "steward" not in text
    parsed = json.loads((tmp_path / "p.json").read_text())
    assert set(parsed["one_way"]) == {"age", "sex", "region", "income", "seen", "ill"}
    assert paths["report_json"].endswith("p.json")


def test_it_is_made_without_the_real_table(release, tmp_path):
    """Byte for byte the same from a copy of the release that lies alone."""
    import shutil

    shutil.copytree(release[0], tmp_path / "alone")
    first, second = (publish.publishable_page(publish.gather(f), f) for f in (release[0], tmp_path / "alone"))
    assert first == second


def test_rows_are_estimated_within_their_error(release):
    assert publish.gather(release[0]).rows == pytest.approx(1500, abs=40)


def table(values, sigma, cells=None):
    bins = Bins.each("c", cells or len(values))
    return NoisyTable(bins=(bins,), values=np.asarray(values, float), sigma=sigma)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """20,000 cells: a share of 0.95 +- 0.0062 at four standard errors; wrong noise is found both ways."""
    rng, truth = np.random.default_rng(0), np.full(20_000, 500.0)
    noisy = np.rint(truth + rng.normal(0, 8.0, 20_000))
    covered = ComparedTable(table=table(noisy, 8.0), synthetic=truth, rows=1e7).covered
    assert covered == pytest.approx(0.95, abs=0.0062)
    for wrong in (8.0 * 0.95, 8.0 * 1.05):
        assert abs(ComparedTable(table=table(noisy, wrong), synthetic=truth, rows=1e7).covered - 0.95) > 0.0062


def test_distance_from_noise_alone_is_foretold():
    rng, truth = np.random.default_rng(0), np.full(4000, 500.0)
    result = ComparedTable(table=table(truth + rng.normal(0, 8.0, 4000), 8.0), synthetic=truth, rows=truth.sum())
    assert result.distance == pytest.approx(result.from_noise, rel=0.05)


def test_the_total_weighs_tables_by_their_noise():
    good, bad = table([600.0, 400.0], 1.0), table([900.0, 900.0], 1000.0)
    assert total([good, bad], None) == pytest.approx(1000, abs=1)
    assert total([bad], 777) == 777
    assert total([], None) is None


def test_counts_of_a_synthetic_table_are_counted_by_hand():
    first, second = (
        Bins.each("a", 2),
        Bins(column="b", cells=4, starts=np.array([0, 2, 3]), groups=np.array([0, -1, 1])),
    )
    marginal = Marginal(bins=(first, second), sigma=2.0)
    release = CountsRelease(question=Counts(purpose="p", marginals=(marginal,)), values=(np.zeros((2, 2), np.int64),))
    made = tables([release])[0].counted({"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 2, 3])})
    assert made.tolist() == [[2, 0], [0, 1]]


def test_one_hot_slices_tell_noisy_counts():
    rng, weight, rows = np.random.default_rng(0), np.sqrt(0.5), 900
    blocks = tuple(Block.one_hot(Bins.each(n, 3), weight=weight) for n in "ab")
    question = Slices(purpose="s", encoding=Encoding(blocks=blocks), sigma=1.5, groups=30)
    codes = [rng.integers(0, 3, rows) for _ in "ab"]
    group, sums = rng.integers(0, 30, rows), np.zeros((30, 6))
    for at, code in enumerate(codes):
        np.add.at(sums, (group, 3 * at + code), weight)
    reported = tables([SlicesRelease(question=question, values=sums + rng.normal(0, 1.5, sums.shape))])
    assert [t.columns for t in reported] == [("a",), ("b",)]
    assert reported[0].sigma == pytest.approx(1.5 * np.sqrt(30) / weight)
    assert np.abs(reported[0].values - np.bincount(codes[0])).max() < 4 * reported[0].sigma


def test_a_release_without_counts_says_so(release):
    stored = folder.load_release(release[0])
    result = publishable.gather([], {"age": np.arange(5)}, schema=stored.schema, public_rows=None, kinds=("embedding",))
    said = publishable.verdict(result, stored.card)
    text = publishable.render(result, about=stored.card, said=said)
    check(text)
    assert "released embedding, not tables of counts" in text


def test_texts_are_escaped_wherever_they_stand(release):
    """Names of columns and values, of the dataset, of statistics: none of them becomes a part of the page."""
    evil = "<script>alert(1)</script>"
    stored, results = folder.load_release(release[0]), publish.gather(release[0])
    plain = json.loads(json.dumps(json.loads(stored.setting.schema.to_json())).replace("sex", evil))
    plain["columns"][evil]["categories"] = [evil, "'\"&"][: len(plain["columns"][evil]["categories"])]
    shown = dataclasses.replace(
        results,
        schema=schemas.parse(plain),
        singles={ONE: {n.replace("sex", evil): s for n, s in results.singles[ONE].items()}},
        pairs={"": {(evil, b): s for (_, b), s in results.pairs[""].items()}},
    )
    counted = {"kind": "count", "columns": [evil], "half": 1.0, "cells": [{"values": [evil], "count": 1}] * 40}
    mean = {"kind": "mean", "columns": [evil], "value": 1, "low": 0, "high": 2}
    card = Card({**stored.card, "dataset": evil, "meaning": evil, "unit": evil, "ledger_entry": {"number": evil}})
    paid = {"card": card, "level": 0.95, "statistics": [counted, mean]}
    said = publishable.verdict(shown, card)
    text = publishable.render(shown, about=card, said=said, paid=paid)
    check(text)
    assert text.count("&lt;script&gt;") > 50
    assert "<script" not in text


def test_the_command_is_free(command, release, tmp_path):
    code, out, _ = command("report", release[0], "--publishable", "--out", tmp_path / "p.html", "--json")
    assert code == 0
    assert json.loads(out)["epsilon_spent"] == 0


def test_tables_of_three_columns_are_shown_beside_their_noise():
    """A parity that the synthetic rows keep is as near as noise lets it, one that they lose is far."""
    rng = np.random.default_rng(0)
    codes = {n: rng.integers(0, 2, 4000) for n in "ab"}
    retained = codes | {"y": (codes["a"] + codes["b"]) % 2}
    facts = schemas.parse({"columns": {n: {"type": "categorical", "categories": ["0", "1"]} for n in "aby"}})
    marginal = Marginal(bins=tuple(Bins.each(n, 2) for n in "aby"), sigma=20.0)
    asked = Counts(purpose="tables", marginals=(marginal,))
    exact = tables([CountsRelease(question=asked, values=(np.zeros((2, 2, 2), np.int64),))])[0].counted(retained)
    values = np.rint(exact + rng.normal(0, 20.0, exact.shape)).astype(np.int64)
    release = CountsRelease(question=asked, values=(values,))
    result, lost = (
        publishable.gather([release], made, schema=facts, public_rows=4000)
        for made in (retained, retained | {"y": rng.integers(0, 2, 4000)})
    )
    near, far = (f.larger["a", "b", "y"] for f in (result, lost))
    assert near.distance < 2 * near.from_noise < 0.1 < 0.4 < far.distance
    assert publishable.plain(result)["larger"][0]["columns"] == ["a", "b", "y"]
    assert publishable.means(result)["two_way"] is None


def test_relations_that_the_method_does_not_keep_are_no_use_of_what_is_published(tmp_path):
    """A release of single columns says of its pairs that there is nothing to them, not that care is enough."""
    asked = {"schema": synth.Schema.parse(SMALL), "epsilon": 5.0, "delta": 1e-5}
    levels = {}
    for method in ("independent", "mixture"):
        synth.run(small_frame(600), dataset="d", method=method, out=tmp_path / method, **asked)
        levels[method] = {use.name: use.level for use in publish.verdict(tmp_path / method).uses}
    del levels["independent"]["averages"]  # of single columns: a use of its own
    assert levels["independent"] == {"columns": "good for", "pairs": "not for", "triples": "not for"}
    assert "not for" not in (levels["mixture"]["pairs"], levels["mixture"]["triples"])
