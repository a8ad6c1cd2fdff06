"""One table of stays in which patients repeat: are persons as near as in two tables made together?

    python benchmarks/persons.py [--tables hospital] [--runs 3] [--epsilon 3.2]

Patients and stays of related_cases.py as one table, race and gender repeated on each stay and declared the patient's
own ("of": "unit"), the stays ordered by their numbers: made as one table whose persons keep their rows, delta 1e-6, and
cut into two again to be scored as benchmarks/related.py scores two tables made together with the same budget, whose
figures (benchmarks/results/related.json) are printed beside: total variations of as many rows as the real ones have.
`constant` is the share of persons in whom race and gender are one
value. Prints Markdown, which docs/related-tables.md holds; writes benchmarks/results/persons.json. Needs the public
tables beside the checkout.
"""

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from docs_figures_persons import markdown
from related_cases import Case, hospital
from related_peers import DELTA
from related_scores import Coder, coded, scores
from runner import RESULTS, Row, grid, measured, read, start

import synth

CASES = {"hospital": hospital}


@contextmanager
def place(name: str):
    """The two tables."""
    yield CASES[name]()


def flat(case: Case) -> tuple[pd.DataFrame, dict]:
    """Both tables as one, and its schema."""
    key, (upper, lower) = case.key, (case.schema["tables"][case.key[t]]["columns"] for t in ("parent", "child"))
    person = key["columns"][0]
    rows = case.tables[key["child"]].merge(case.tables[key["parent"]], on=person)
    own = {n: {**c, "of": "unit"} for n, c in upper.items() if n != person}
    facts = {"columns": {**lower, **own}, "unit": person, "max_rows": key["most_children"], "order": key["order"]}
    return rows[list(facts["columns"])], facts


def cut(case: Case, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """One table as both, each person's own columns from the first row."""
    person = case.key["columns"][0]
    upper, lower = (list(case.schema["tables"][case.key[t]]["columns"]) for t in ("parent", "child"))
    return {case.key["parent"]: rows.groupby(person, as_index=False).first()[upper], case.key["child"]: rows[lower]}


def judge(given):
    """How one case is measured."""

    def one(case: Case, _: Row) -> Row:
        coder = Coder(case)
        with TemporaryDirectory() as folder:
            common = {"epsilon": given.epsilon, "delta": DELTA, "ledger": Path(folder) / "ledger.sqlite"}
            rows, facts = flat(case)
            result = synth.run(rows, schema=synth.Schema.parse(facts), dataset="stays", **common)
        made = cut(case, result.frame.astype(str))
        own = [n for n in made[case.key["parent"]] if n != case.key["columns"][0]]
        same = (result.frame.groupby(case.key["columns"][0])[own].nunique() == 1).all(axis=1).mean()
        results = scores(coded(case, case.tables, coder), coded(case, made, coder))
        return {
            "scores": results,
            "constant": float(same),
            "seconds": result.seconds_total,
            "peak_mib": result.peak_mib,
        }

    return one


def main(given) -> None:
    """Measures, prints, stores."""
    rows = measured(given, grid(table=given.tables, run=range(given.runs)), judge(given), prepare=place)
    print(markdown(rows, read(RESULTS / "related.json", [])))


if __name__ == "__main__":
    start(main, json="persons", tables=["hospital"], runs=3, epsilon=3.2)
