"""What each part of `mixture` brings: pairs alone, tables of three columns, of any order; and AIM's tables by its fit.

    python benchmarks/ablation.py [--tables adult,nist] [--epsilon 1] [--seeds 3] [--aim 1] [--most-seconds 1800]

Needs the public tables and score.py in ../shared, and the extra ``mbi``. Every run goes through the command line with a
ledger of its own. `AIM's tables, fitted by the mixture` is a second fit to what that run of AIM released, which costs
nothing: one answer, two models. ``--aim``: runs of AIM.
"""

import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from beyond_pairs import scores
from markdown_tables import means
from public_tables import prepared, ran
from runner import Row, measured, start

from synth.generators.marginals import fit_mixture, layout
from synth.generators.marginals.choose_logits import with_conditionals
from synth.generators.marginals.denoise import project
from synth.generators.marginals.histogram import Histogram
from synth.generators.marginals.mixture import Mixture, axis, rake
from synth.generators.marginals.pair_queries import PURPOSE
from synth.generators.papers import opendp as external_fit
from synth.generators.product_mixture.model import Product
from synth.numeric.markov_field import MeasuredTable, total_of
from synth.pipeline.draw_rows import Drawn, whole
from synth.questions import Bins, Counts, CountsRelease, ExternalRelease, Marginal
from synth.release import folder as releases
from synth.release.folder import load_release

PARTS = {"mixture, pairs alone": "rounds=0", "and three columns": "order=3", "and four columns, as it is": ""}
BOTH = "AIM's tables, fitted by the mixture"
SHOWN = ("triple_tv_err", "pair_tv_err", "c2st_auc", "tstr_auc", "k_marginal")
markdown = partial(
    means,
    by=("table", "epsilon", "what"),
    columns=dict.fromkeys(SHOWN, 4) | {"k_marginal": 1, "seconds": 1},
    runs="runs",
)


def by_mixture(stored: releases.StoredRelease, seed: int) -> Product:
    """The mixture fitted to the tables that AIM chose and counted."""
    release = next(r for r in stored.releases if isinstance(r, ExternalRelease))
    answers = list(zip(release.cliques, map(np.asarray, release.values), map(float, release.sigmas), strict=True))
    total = total_of([MeasuredTable(*a) for a in answers])
    bins, numbers = release.question.bins, external_fit._numbers(stored.releases, stored.setting)
    alone = {c[0]: (v, s) for c, v, s in answers if len(c) == 1}
    result = {b.column: _histogram(b, *alone[i], total, numbers.get(b.column)) for i, b in enumerate(bins)}
    several = [(Marginal(bins=tuple(bins[i] for i in c), sigma=s), v) for c, v, s in answers if len(c) > 1]
    asked = Counts(purpose=PURPOSE, marginals=tuple(m for m, _ in several))
    tables = [CountsRelease(question=asked, values=tuple(v for _, v in several))]
    groups = {b.column: b.groups for b in bins}
    problem, spans = layout.problem(result, groups, tables, total)
    rng = np.random.default_rng(seed)
    weights, probs = fit_mixture.fit(problem, Mixture().options, rng=rng, device="cpu", progress=lambda _: None)
    for span in spans.values():
        probs[:, span] = rake(weights, probs[:, span], problem.mass[span])
    axes = [axis(h, groups[n], probs[:, spans[n]]) for n, h in result.items()]
    made = Product(total=total, weights=weights, axes=tuple(axes))
    return with_conditionals(made, groups, tables, stored.setting.schema.target, rng=rng)


def _histogram(bins: Bins, counts: np.ndarray, sigma: float, total: float, known: Histogram | None) -> Histogram:
    """A column's counts by leaf: the bins' counts, divided as the counts before AIM's say."""
    inside = np.ones(len(bins.starts)) if known is None else np.maximum(known.mass, 1e-9)
    whole = project(counts.astype(float), total=total)
    mass = inside / np.bincount(bins.groups, weights=inside)[bins.groups] * whole[bins.groups]
    return Histogram(column=bins.column, cells=bins.cells, starts=bins.starts, mass=mass, sigma=sigma)


def second(folder: Path, cell: Row) -> Row:
    """The mixture's fit to what a run of AIM released, and its scores."""
    stored, began = load_release(folder / "out"), time.perf_counter()
    model = by_mixture(stored, cell["seed"])
    rng = np.random.default_rng(cell["seed"])
    texts = whole(Drawn(model, stored.setting.schema, round(model.total), rng=rng).blocks())
    path = folder / "second.csv"
    pd.DataFrame({n: a.to_pylist() for n, a in texts.items()}).to_csv(path, index=False)
    return {"what": BOTH, "seconds": time.perf_counter() - began} | scores(folder, path, cell["table"])


def one(folder: Path, cell: Row, most: float) -> list[Row]:
    """A run and its scores; beside AIM's, those of the mixture's fit."""
    said = ran(folder, cell, most=most)
    if "failed" in said:
        return [said]
    results = [said | scores(folder, folder / "out" / "synthetic.csv", cell["table"])]
    return [*results, second(folder, cell)] if cell["what"] == "AIM" else results


def main(given) -> None:
    cells = []
    for table in given.tables:
        own = [("mixture", o, w, s) for w, o in PARTS.items() for s in range(given.seeds)]
        for method, options, what, seed in (*own, *(("aim", "", "AIM", s) for s in range(given.aim))):
            cell = {"table": table, "epsilon": given.epsilon, "what": what, "method": method}
            cells.append(cell | {"options": options, "seed": seed})
    print(markdown(measured(given, cells, partial(one, most=given.most_seconds), prepare=prepared)))


if __name__ == "__main__":
    usual = {"tables": "adult,nist", "epsilon": 1.0, "seeds": 3, "aim": 1, "most_seconds": 1800.0}
    start(main, public=True, json="ablation", **usual)
