"""The more, the closer: error of `mixture` on a simulated table against epsilon times rows, noise apart from the model.

    python benchmarks/closer.py [--rows 10000,100000,1000000] [--epsilons 1,5,20] [--seeds 1] [--search 12]

Eight columns with dependences of two, three and four columns, whose law is known exactly (``law``): errors are against
the law, not against the rows that were drawn from it. ``error``: mean total variation of all tables of three and of
four columns of the synthetic rows; ``fresh``: of as many rows drawn anew, which is what chance alone makes; ``model``:
of as many rows from a fit to exact answers, the model's own error and chance (the rows are simulated: nobody is told
of). ``--search``: rounds of the search for tables of more columns (option ``rounds``, by default 12). Every cell with
noise is a run through the command line. Prints Markdown and draws docs/pictures/closer.svg (of another ``--json``
build/pictures/closer.svg).
"""

from functools import cache
from itertools import combinations, product
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import laid, ran
from runner import Row, grid, measured, pictures, start

from synth.generators.base import Fit, Run, Setting
from synth.generators.marginals.mixture import Mixture
from synth.mechanisms import search
from synth.questions import Counts, CountsRelease, Marginal, Search, SearchRelease
from synth.schema.table import Schema

SIZES = {"a": 4, "b": 4, "c": 4, "d": 4, "e": 4, "pair": 4, "three": 4, "four": 2}
RETAINED = 0.9  # part of the rows that keep each dependence; the others are drawn evenly
NOISELESS = 30.0  # mu by which the questions are planned that are answered exactly
KEY = ("rows", "search", "epsilon", "seed")
WORDS = {"error": "synthetic rows", "fresh": "fresh rows: chance alone", "model": "model without noise"}


def law() -> np.ndarray:
    """The joint probabilities, an axis a column: a to e even; the others follow a, a and b, the parity of c, d, e."""
    a, b, c, d, e = np.ogrid[:4, :4, :4, :4, :4]
    own = {"pair": (a, 4), "three": ((a + b) % 4, 4), "four": ((c + d + e) % 2, 2)}
    whole = np.full((4,) * 5, 4.0**-5)
    for fixed, size in own.values():
        retained = np.asarray(fixed)[..., None] == np.arange(size)
        retained = np.broadcast_to(retained, (4,) * 5 + (size,))
        given = RETAINED * retained + (1 - RETAINED) / size
        whole = whole[..., None] * given.reshape((4,) * 5 + (1,) * (whole.ndim - 5) + (size,))
    return whole


@cache
def drawn(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes (rows, columns) from the law, and as many again."""
    rng, shape = np.random.default_rng([rows, seed]), tuple(SIZES.values())
    flat = [rng.choice(law().size, rows, p=law().ravel()) for _ in range(2)]
    first, again = (np.stack(np.unravel_index(f, shape), axis=1) for f in flat)
    return first, again


def error(codes: np.ndarray, order: int) -> float:
    """Mean total variation of all tables of ``order`` columns to the law's."""
    joint, sizes = law(), tuple(SIZES.values())
    seen = np.bincount(np.ravel_multi_index(tuple(codes.T), sizes), minlength=joint.size).reshape(sizes) / len(codes)
    apart = []
    for retained in combinations(range(len(sizes)), order):
        over = tuple(i for i in range(len(sizes)) if i not in retained)
        apart.append(0.5 * np.abs((seen - joint).sum(over)).sum())
    return float(np.mean(apart))


def errors(codes: np.ndarray, name: str) -> dict[str, float]:
    return {f"{name}_3": error(codes, 3), f"{name}_4": error(codes, 4)}


def place(rows: int, seed: int):
    """The drawn rows and their schema."""
    columns = {n: {"type": "categorical", "categories": [str(v) for v in range(k)]} for n, k in SIZES.items()}
    return laid(pd.DataFrame(drawn(rows, seed)[0], columns=list(SIZES)), {"columns": columns})


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


@cache
def modelled(rows: int, seed: int, search_rounds: int, schema: str) -> dict[str, float]:
    """Errors of rows from a fit to exact answers on these rows."""
    codes, rng = drawn(rows, seed)[0], np.random.default_rng([rows, seed, 1])
    setting = Setting(schema=Schema.model_validate_json(schema), mu=NOISELESS, sensitivity=1.0, signed=1.0)
    method, ask = Mixture(rounds=search_rounds), Exact(dict(zip(SIZES, codes.T, strict=True)))
    answers = method.measure(Run(ask, setting))
    model = method.fit(answers, setting, Fit(rng))
    made = model.sample(len(codes), rng=rng)
    return errors(np.stack([made[n] for n in SIZES], axis=1), "model")


def one(folder: Path, cell: Row) -> Row:
    """Errors of fresh rows, of the model, and of the synthetic rows of one run."""
    rows, rounds, seed = (cell[k] for k in ("rows", "search", "seed"))
    result = errors(drawn(rows, seed)[1], "fresh")
    result |= modelled(rows, seed, rounds, (folder / "schema.json").read_text())
    said = ran(folder, cell | {"options": f"rounds={rounds}"})
    if "failed" in said:
        return result | said
    made = pd.read_csv(folder / "out" / "synthetic.csv")[list(SIZES)].to_numpy()
    return result | errors(made, "error") | {"seconds": said["seconds"]}


def markdown(rows: list[Row]) -> str:
    """Means over runs."""
    columns = {f"{n}_{k}": (f"{n}, {k} columns", 4) for k in (3, 4) for n in WORDS} | {"seconds": 1}
    return means(sorted(rows, key=lambda r: tuple(r[k] for k in KEY)), KEY[:3], columns, runs="runs")


def picture(rows: list[Row], path: Path) -> None:
    """Error against epsilon times rows, on logarithmic axes; the model's and chance's beside it."""
    dots = []
    for r, k, (name, words) in product([r for r in rows if "failed" not in r], (3, 4), WORDS.items()):
        reported = {"spent": r["epsilon"] * r["rows"], "error": r[f"{name}_{k}"], "what": words}
        dots.append(reported | {"tables": f"{k} columns, rounds={r['search']}", "rows": f"{r['rows']:,} rows"})
    base = alt.Chart(pd.DataFrame(dots)).encode(
        x=alt.X("spent:Q", scale=alt.Scale(type="log"), title="epsilon times rows"),
        y=alt.Y("error:Q", scale=alt.Scale(type="log"), title="mean total variation to the law"),
        color=alt.Color("what:N", title=""),
        shape=alt.Shape("rows:N", title=""),
        detail="rows:N",
    )
    both = alt.layer(base.mark_line(opacity=0.5), base.mark_point(filled=True, size=50))
    both.properties(width=300, height=220).facet(column=alt.Column("tables:N", title="tables of")).save(str(path))


def main(given) -> None:
    cells = grid(rows=given.rows, search=given.search, epsilon=given.epsilons, seed=range(given.seeds))
    rows = measured(given, cells, one, prepare=place, by=("rows", "seed"))
    picture(rows, pictures(given.json) / "closer.svg")
    print(markdown(rows))


if __name__ == "__main__":
    usual = {"rows": [10_000, 100_000, 1_000_000], "epsilons": [1.0, 5.0, 20.0], "search": [12], "seeds": 1}
    start(main, json="closer", **usual)
