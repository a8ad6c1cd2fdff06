"""The more, the closer: error of `mixture` on a simulated table against epsilon times rows, noise apart from the model.

    python benchmarks/closer.py [--rows 10000,100000,1000000] [--epsilons 1,5,20] [--seeds 1] [--search 12]
                                [--json FILE] [--fresh]

Eight columns with dependences of two, three and four columns, whose law is known exactly (``law``): errors are
against the law, not against the rows that were drawn from it. ``error``: mean total variation of all tables of three
and of four columns of the synthetic rows; ``fresh``: of as many rows drawn anew, which is what chance alone makes;
``model``: of as many rows from a fit to exact answers, the model's own error and chance (the rows are simulated:
nobody is told of). ``--search``: rounds of the search for tables of more columns (option ``rounds``, by default 12).
Every cell with noise is a run through the command line. Runs that the JSON (default benchmarks/results/closer.json)
holds are passed over. Prints Markdown and draws docs/pictures/closer.svg (of another ``--json``
build/pictures/closer.svg).
"""

import argparse
import json
import tempfile
from itertools import combinations, product
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from cells import ran
from flagship import ROOT
from markdown_tables import means, store, stored

from synth.generators.base import Setting
from synth.generators.marginals.mixture import Mixture
from synth.mechanisms import search
from synth.questions import Counts, CountsRelease, Marginal, Search, SearchRelease
from synth.schema.table import Schema

RESULTS = ROOT / "benchmarks" / "results" / "closer.json"
SIZES = {"a": 4, "b": 4, "c": 4, "d": 4, "e": 4, "pair": 4, "three": 4, "four": 2}
KEPT = 0.9  # part of the rows that keep each dependence; the others are drawn evenly
NOISELESS = 30.0  # mu by which the questions are planned that are answered exactly
KEY = ("rows", "search", "epsilon", "seed")
WORDS = {"error": "synthetic rows", "fresh": "fresh rows: chance alone", "model": "model without noise"}


def law() -> np.ndarray:
    """The joint probabilities, an axis a column: a to e even; the others follow a, a and b, the parity of c, d, e."""
    a, b, c, d, e = np.ogrid[:4, :4, :4, :4, :4]
    own = {"pair": (a, 4), "three": ((a + b) % 4, 4), "four": ((c + d + e) % 2, 2)}
    whole = np.full((4,) * 5, 4.0**-5)
    for fixed, size in own.values():
        kept = np.asarray(fixed)[..., None] == np.arange(size)
        kept = np.broadcast_to(kept, (4,) * 5 + (size,))
        given = KEPT * kept + (1 - KEPT) / size
        whole = whole[..., None] * given.reshape((4,) * 5 + (1,) * (whole.ndim - 5) + (size,))
    return whole


def drawn(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Codes (rows, columns) from the law."""
    flat = rng.choice(law().size, rows, p=law().ravel())
    return np.stack(np.unravel_index(flat, tuple(SIZES.values())), axis=1)


def error(codes: np.ndarray, order: int) -> float:
    """Mean total variation of all tables of ``order`` columns to the law's."""
    joint, sizes = law(), tuple(SIZES.values())
    seen = np.bincount(np.ravel_multi_index(tuple(codes.T), sizes), minlength=joint.size).reshape(sizes) / len(codes)
    apart = []
    for kept in combinations(range(len(sizes)), order):
        over = tuple(i for i in range(len(sizes)) if i not in kept)
        apart.append(0.5 * np.abs((seen - joint).sum(over)).sum())
    return float(np.mean(apart))


def errors(codes: np.ndarray, name: str) -> dict[str, float]:
    return {f"{name}_3": error(codes, 3), f"{name}_4": error(codes, 4)}


def schema() -> dict:
    return {"columns": {n: {"type": "categorical", "categories": [str(v) for v in range(k)]} for n, k in SIZES.items()}}


def one(folder: Path, search_rounds: int, epsilon: float, seed: int) -> dict:
    """Errors of the synthetic rows of one run."""
    cell = {
        "table": "simulated",
        "epsilon": epsilon,
        "method": "mixture",
        "seed": seed,
        "options": f"rounds={search_rounds}",
    }
    told = ran(folder, cell, folder / "out")
    if "failed" in told:
        return {"failed": told["failed"]}
    made = pd.read_csv(folder / "out" / "synthetic.csv")[list(SIZES)].to_numpy()
    return errors(made, "error") | {"seconds": told["seconds"]}


class Exact:
    """Stands in for the curator, of simulated rows: exact counts, and the tables that depart most."""

    def __init__(self, positions: dict[str, np.ndarray]) -> None:
        self.positions = positions

    def __call__(self, question: Counts | Search) -> CountsRelease | SearchRelease:
        if isinstance(question, Search):
            best = np.argsort(-search.scores(question, self.positions))[: question.picks]
            return SearchRelease(question=question, chosen=tuple(best.tolist()))
        return CountsRelease(question=question, values=tuple(self.counted(m) for m in question.marginals))

    def counted(self, marginal: Marginal) -> np.ndarray:
        codes = [b.groups[np.searchsorted(b.starts, self.positions[b.column], side="right") - 1] for b in marginal.bins]
        shape = tuple(b.size for b in marginal.bins)
        return np.bincount(np.ravel_multi_index(codes, shape), minlength=marginal.cells).reshape(shape)


def modelled(codes: np.ndarray, folder: Path, search_rounds: int, rng: np.random.Generator) -> dict[str, float]:
    """Errors of rows from a fit to exact answers on these rows."""
    known = Schema.model_validate_json((folder / "schema.json").read_text())
    setting = Setting(schema=known, mu=NOISELESS, sensitivity=1.0, signed=1.0)
    method, ask = Mixture(rounds=search_rounds), Exact(dict(zip(SIZES, codes.T, strict=True)))
    answers = method.measure(ask, setting, progress=lambda _: None)
    model = method.fit(answers, setting, rng=rng, device="cpu", progress=lambda _: None)
    made = model.sample(len(codes), rng=rng)
    return errors(np.stack([made[n] for n in SIZES], axis=1), "model")


def cell_of(folder: Path, cell: dict, noiseless: dict[tuple, dict]) -> dict:
    rows, rounds, epsilon, seed = (cell[k] for k in KEY)
    rng = np.random.default_rng([rows, seed])
    codes = drawn(rows, rng)
    pd.DataFrame(codes, columns=list(SIZES)).to_csv(folder / "train.csv", index=False)
    fresh = errors(drawn(rows, rng), "fresh")
    if (rows, rounds, seed) not in noiseless:
        noiseless[rows, rounds, seed] = modelled(codes, folder, rounds, rng)
    return {**cell, **fresh, **noiseless[rows, rounds, seed], **one(folder, rounds, epsilon, seed)}


def markdown(rows: list[dict]) -> str:
    """Means over runs; failures with their reason below."""
    columns = {f"{n}_{k}": (f"{n}, {k} columns", 4) for k in (3, 4) for n in WORDS} | {"seconds": ("seconds", 1)}
    ordered = sorted(rows, key=lambda r: tuple(r[k] for k in KEY))
    return means([r for r in ordered if "failed" not in r], KEY[:3], columns, runs="runs")


def picture(rows: list[dict], path: Path) -> None:
    """Error against epsilon times rows, on logarithmic axes; the model's and chance's beside it."""
    frame = pd.DataFrame([r for r in rows if "failed" not in r])
    told = [
        {
            "spent": r["epsilon"] * r["rows"],
            "error": r[f"{n}_{k}"],
            "what": words,
            "tables": f"{k} columns, rounds={r['search']}",
            "rows": f"{r['rows']:,} rows",
        }
        for r in frame.to_dict("records")
        for k in (3, 4)
        for n, words in WORDS.items()
    ]
    base = alt.Chart(pd.DataFrame(told)).encode(
        x=alt.X("spent:Q", scale=alt.Scale(type="log"), title="epsilon times rows"),
        y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="mean total variation to the law"),
        color=alt.Color("what:N", title=""),
        shape=alt.Shape("rows:N", title=""),
        detail="rows:N",
    )
    both = alt.layer(base.mark_line(opacity=0.5), base.mark_point(filled=True, size=50)).properties(
        width=300, height=220
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    both.facet(column=alt.Column("tables:N", title="tables of")).save(str(path))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default="10000,100000,1000000")
    parser.add_argument("--epsilons", default="1,5,20")
    parser.add_argument("--search", default="12")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", default=str(RESULTS))
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    path = Path(given.json)
    rows = stored(path, fresh=given.fresh)
    known = {tuple(r[k] for k in KEY) for r in rows}
    noiseless: dict[tuple, dict] = {}
    lists = (given.rows, int), (given.search, int), (given.epsilons, float)
    for told in product(*([kind(x) for x in text.split(",")] for text, kind in lists), range(given.seeds)):
        if told in known:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "schema.json").write_text(json.dumps(schema()))
            rows.append(cell_of(folder, dict(zip(KEY, told, strict=True)), noiseless))
        print(rows[-1], flush=True)
        store(path, rows)
    whose = ROOT / ("docs" if path.resolve() == RESULTS else "build") / "pictures" / "closer.svg"
    picture(rows, whose)
    print(markdown(rows))


if __name__ == "__main__":
    main()
