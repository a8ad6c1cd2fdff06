"""An outside judge of our tables: SynthEval, called as its users call it, on tables of ``synth.Synthesizer``.

    python benchmarks/outside_judges.py [--tables acs] [--methods mixture,independent] [--epsilon 1] [--seeds 3]

Needs the public tables in ../shared, and a package index for the first run, which makes the environment build/syntheval
(syntheval 1.7.3) unless ``--python`` names one. The judge compares every row with every other, so that 4,000 rows of
each table are taken, drawn with a fixed seed; other real rows are judged beside the methods. It takes no empty number.
Its users drop or fill such rows beforehand, and so it is done here: a number that is empty is written as the code that
its source has for it (Adult's capital-gain: 99999); a row whose number is empty without such a code is left out, in
every table alike.
"""

import json
from functools import partial
from pathlib import Path

import pandas as pd
from markdown_tables import means
from public_tables import prepared, texts
from runner import ROOT, Row, answer_of, environment, grid, measured, start, sure

import synth

SYNTHEVAL = ("syntheval", "syntheval==1.7.3")  # its environment and the package
MOST = 4000
OTHER = "other real rows"
METRICS = {
    "avg_dwm_diff": ("means, difference", 4),
    "avg_cio": ("intervals, overlap", 3),
    "ks_tvd_stat": ("KS or TV", 4),
    "avg_h_dist": ("Hellinger distance", 4),
    "auroc": ("AUC, real minus made", 3),
    "nnaa": ("adversarial accuracy", 3),
    "priv_loss_nnaa": ("privacy loss", 3),
    "hit_rate": ("hit rate", 4),
}
markdown = partial(means, by=("table", "epsilon", "method"), columns=METRICS, runs="runs")


def drawn(path: Path) -> pd.DataFrame:
    """The rows in a random order, the same each time; whole numbers without a point, as synthetic rows have them."""
    return texts(path).sample(frac=1, random_state=0).apply(lambda column: column.str.replace(r"\.0$", "", regex=True))


def whole(rows: pd.DataFrame, schema: synth.Schema) -> pd.DataFrame:
    """Rows without an empty number: the source's own code in its place, or without the row where there is none."""
    rows = rows.copy()
    for name, column in schema.measured().items():
        if column.is_numeric:
            empty = rows[name].isna() | (rows[name].astype(str).str.strip() == "")
            if column.missing:
                rows[name] = rows[name].astype(object).mask(empty, column.missing[0])
            else:
                rows = rows[~empty]
    return rows


def judged(python: str, folder: Path, made: pd.DataFrame, schema: synth.Schema) -> dict[str, float]:
    """What the judge says of a table beside 4,000 rows of the source and as many held out."""
    names = list(schema.measured())
    sides = {"real": drawn(folder / "train.csv")[:MOST], "held": drawn(folder / "test.csv")[:MOST], "made": made[:MOST]}
    for name, rows in sides.items():
        whole(rows[names], schema).to_csv(folder / f"{name}.csv", index=False)
    codes = [n for n, c in schema.measured().items() if not c.is_numeric]
    reported = {n: str(folder / f"{n}.csv") for n in sides} | {"target": schema.target, "codes": codes}
    (folder / "place.json").write_text(json.dumps(reported))
    script = ROOT / "benchmarks" / "syntheval_score.py"
    return sure(answer_of([python, script, folder / "place.json"], cwd=folder))  # it leaves pictures where it runs


def main(given) -> None:
    python = given.python or environment(*SYNTHEVAL)

    def one(folder: Path, cell: Row) -> Row:
        schema = synth.Schema.load(folder / "schema.json")
        if cell["method"] == OTHER:
            return judged(python, folder, drawn(folder / "train.csv")[MOST:], schema)
        made = synth.Synthesizer(schema, method=cell["method"], delta=1e-5, ledger=folder / "ledger.sqlite")
        made.fit(folder / "train.csv", epsilon=cell["epsilon"])
        return judged(python, folder, made.sample(MOST, seed=cell["seed"]), schema)

    cells: list[Row] = []
    for table in given.tables:
        cells.append({"table": table, "epsilon": None, "seed": 0, "method": OTHER})
        ways = {"method": given.methods, "seed": range(given.seeds)}
        cells += grid(table=[table], epsilon=[given.epsilon], **ways)
    print(markdown(measured(given, cells, one, prepare=prepared)))


if __name__ == "__main__":
    usual = {"tables": ["acs"], "methods": "mixture,independent", "epsilon": 1.0, "seeds": 3, "python": ""}
    start(main, public=True, json="outside_judges", **usual)
