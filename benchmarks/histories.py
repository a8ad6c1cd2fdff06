"""Long histories with a known truth: gaps, seasons, states that persist, first and last events, attrition.

    python benchmarks/histories.py [--cases visits,panel] [--roots 2000] [--most 40] [--runs 3] [--epsilon 3.2]

Simulated persons (history_cases.py): `visits` at irregular times over ten years, with winters, stages that go one way,
wards that last, a kind that only first rows have and outcomes that only last ones have; `panel`, a row each year, from
which persons without work drop out more often. One table in which persons repeat, delta 1e-6; `mixture`, and
`independent` with the same budget. Figures are total variations between the rows made and a population of 20,000
persons; `sample` is another sample of as many persons as the private one: what a perfect model would leave. With
``--label`` the rows are stored under another name (as those of an older version). Prints Markdown, which
docs/related-tables.md holds.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from docs_figures_histories import markdown
from history_cases import CASES, scores
from related_peers import DELTA
from runner import Row, grid, measured, start

import synth

POPULATION = 20_000  # persons that stand for the truth


@contextmanager
def place(name: str):
    """The simulation, and its population."""
    yield CASES[name], {}


def judge(given):
    """How one case is measured."""

    def one(prepared, cell: Row) -> Row:
        case, populations = prepared
        most = cell["most"]
        truth = populations.setdefault(most, case.rows(POPULATION, most, np.random.default_rng(99)))
        private = case.rows(cell["roots"], most, np.random.default_rng(cell["seed"]))
        if cell["method"] == "sample":
            other = case.rows(cell["roots"], most, np.random.default_rng(1000 + cell["seed"]))
            return {"scores": scores(case, truth, other)}
        with TemporaryDirectory() as folder:
            result = synth.run(
                private,
                schema=synth.Schema.parse(case.schema(most)),
                epsilon=given.epsilon,
                delta=DELTA,
                dataset="histories",
                ledger=Path(folder) / "ledger.sqlite",
                method="independent" if cell["method"] == "independent" else "mixture",
            )
        return {
            "scores": scores(case, truth, result.frame),
            "seconds": result.seconds_total,
            "peak_mib": result.peak_mib,
        }

    return one


def main(given) -> None:
    """Measures, prints, stores."""
    methods = ["sample", "independent", given.label]
    cells = grid(table=given.cases, roots=given.roots, most=given.most, seed=range(given.runs), method=methods)
    print(markdown(measured(given, cells, judge(given), prepare=place)))


if __name__ == "__main__":
    usual = {"cases": "visits,panel", "roots": [2000], "most": [40], "runs": 3, "epsilon": 3.2, "label": "mixture"}
    start(main, json="histories", **usual)
