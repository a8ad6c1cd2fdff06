"""What public tables lose beyond pairs: NIST's k-marginal, three-way tables, real-or-synthetic, and the usual scores.

    python benchmarks/beyond_pairs.py [--tables acs,adult,nist,credit,nist24,nist10] [--epsilons 0.2,1,5.1]

Every cell (table, epsilon, method, options, seed) is a run through the command line with a ledger of its own; cells
that the JSON (default benchmarks/results/beyond_pairs.json) holds already are passed over; ``--fresh`` measures them
again. ``nist24`` and ``nist10`` are all rows of NIST's national excerpt of 2019, on 24 columns at delta 3.6e-6 and on
ten at 1e-9, without a target, scored by tables of three columns alone; of the others a fifth is held out. The methods
``dpsynth-swift`` and ``dpsynth-aim`` are google/dpsynth's, run by related_rival.py in the Python named by
``--rival-python``; their tables are of three columns, or of two with ``--options dpsynth-swift:order=2``.
"""

import sys
from pathlib import Path

from markdown_tables import each, means
from orders import k_marginal, triple_tv_err
from peers import CELL, cells_of
from public_tables import BOOTSTRAP, DELTA, facts, numeric, part_of_real, prepared, ran, scored, texts
from runner import ROOT, Row, answer_of, measured, start

from synth.privacy.accounting.gaussian import calibrate

SCORES = ("ks", "tv", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
SHOWN = ("k_marginal", "c2st_auc", "triple_tv_err", "pair_tv_err", "logreg_f1", "tstr_auc", "ks", "tv")
RIVAL = "dpsynth-"
BY = {"nist24": "PUMA", "nist": "PUMA", "nist10": None}  # in every table of the k-marginal; nist10: of all pairs
PARTS = {"10% of the real rows": 0.1, "40% of the real rows": 0.4, BOOTSTRAP: 1.0}  # scored like synthetic tables


def scores(folder: Path, made: Path, table: str) -> Row:
    """All scores of one synthetic file."""
    real, rows = texts(folder / "train.csv"), texts(made)
    common = [n for n, c in facts(folder).items() if c["type"] != "identifier" and n in rows]  # keys are numbered anew
    real, rows, numbers = real[common], rows[common], numeric(folder)
    out: Row = {"triple_tv_err": triple_tv_err(real, rows, numbers)}
    if table in BY:
        out["k_marginal"] = k_marginal(real, rows, numbers, by=BY[table])
    if table not in DELTA:
        reported = scored(folder, made)
        out |= {k: reported.get(k) for k in SCORES}
    return out


def parts_of(table: str) -> list[Row]:
    """Parts of the real rows as cases: what a sample of that size reaches."""
    names = PARTS if table in DELTA else [BOOTSTRAP]
    return [{"table": table, "epsilon": None, "method": n, "options": "", "seed": 0} for n in names]


def rival(folder: Path, cell: Row, python: str, most: float | None) -> Row:
    """The seconds of a method of dpsynth; its rows lie in made.csv."""
    mu = calibrate(cell["epsilon"], DELTA.get(cell["table"], 1e-5))
    order = dict(o.split("=") for o in cell["options"].split()).get("order", "3")
    words = [python, ROOT / "benchmarks" / "related_rival.py", folder, "--method", cell["method"].removeprefix(RIVAL)]
    result = answer_of([*words, "--rho", mu**2 / 2, "--order", order, "--seed", cell["seed"]], most=most)
    return result if "failed" in result else {"seconds": result["seconds"]}


def one(folder: Path, cell: Row, *, most: float | None = None, python: str = sys.executable) -> Row:
    """One run with fresh noise and its scores, or those of a part of the real rows."""
    made = folder / "out" / "synthetic.csv"
    if cell["epsilon"] is None:
        return scores(folder, part_of_real(folder, PARTS[cell["method"]])[1], cell["table"])
    if cell["method"].startswith(RIVAL):
        said, made = rival(folder, cell, python, most), folder / "made.csv"
    else:
        said = ran(folder, cell, most=most)
    return said if "failed" in said else said | scores(folder, made, cell["table"])


def markdown(rows: list[Row]) -> str:
    """Means over runs, a line for each table, epsilon, method and options."""
    columns = dict.fromkeys(SHOWN, 4) | {"k_marginal": 1, "seconds": 1}
    order = {"table": each(rows, "table"), "epsilon": None, "method": each(rows, "method"), "options": None}
    return means(rows, CELL[:4], columns, runs="runs", order=order)


def main(given) -> None:
    cells = [c for t in given.tables for c in (*parts_of(t), *cells_of(given, t)[1:])]
    once = {"most": given.most_seconds, "python": given.rival_python}
    print(markdown(measured(given, cells, lambda folder, cell: one(folder, cell, **once), prepare=prepared)))


if __name__ == "__main__":
    usual = {"tables": "acs,adult,nist,credit,nist24,nist10", "epsilons": [1.0], "seeds": 3, "options": []}
    usual |= {"methods": "mixture,independent,mst,aim", "once": "aim,mst", "most_seconds": 1200.0}
    start(main, public=True, json="beyond_pairs", rival_python=sys.executable, **usual)
