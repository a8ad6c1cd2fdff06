"""Counts by area of NIST's national table, with and without a declared tree of areas.

    python benchmarks/areas.py [--epsilon 0.5] [--seeds 3] [--columns few,all] [--how none,tree] [--json FILE]

A column STATE is made of the first two characters of PUMA. `tree`: the schema says that each PUMA lies within its state
(its code begins with it); `none`: the same columns, undeclared. `uses`: PUMA by AGEP by SEX is named as what the table
is for, without the tree; `both`: with it. `margins`: no run, but independent columns that have the real counts, for
what the last two levels ask beyond these. `columns`: all 25, or the few that are counted here. The error of a level is
the sum of |synthetic - real| over its cells, per row of the real table: states, PUMAs, and PUMAs by sex and age, in
bands of five years and in single ones. `out of place`: rows whose state is not that of their PUMA. Every run goes
through the command line with fresh noise. Needs the public tables in ../shared. Prints Markdown.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import figure, table
from public_tables import facts, nist, prepared, ran, ran_and_scored, texts
from runner import Row, grid, measured, start

USE = "PUMA by AGEP by SEX"
LEVELS = {"state": ["STATE"], "puma": ["PUMA"], "bands": ["PUMA", "band", "SEX"], "years": ["PUMA", "AGEP", "SEX"]}
FEW = ("STATE", "PUMA", "AGEP", "SEX")
COLUMNS = {"few": "the four columns", "all": "all 25 columns"}
HOW = {
    "margins": "exact single counts, nothing else",
    "none": "undeclared",
    "tree": "the tree",
    "uses": "the use named",
    "both": "the tree, the use named",
}
BESIDE = {"tree": "none", "both": "uses"}  # with what the tree is compared


def with_states(folder: Path, columns: str) -> list[str]:
    """The usual halves, each with the state of a row's PUMA before it."""
    options = nist(folder)
    for name in ("train.csv", "test.csv"):
        rows = texts(folder / name)
        rows.insert(0, "STATE", rows["PUMA"].str[:2])
        rows = rows[list(FEW)] if columns == "few" else rows
        rows.to_csv(folder / name, index=False)
    codes = options[-1].split(",") if columns == "all" else ["SEX"]
    return [*options[:-1], ",".join(["STATE", "PUMA", *codes])]


def counted(rows: pd.DataFrame, names: list[str]) -> pd.Series:
    """Rows by these columns."""
    band = (rows["AGEP"].astype(float) // 5).astype(int)
    return rows.assign(band=band, AGEP=rows["AGEP"].astype(float)).groupby(names).size()


def errors(real: pd.DataFrame, made: pd.DataFrame) -> Row:
    """The error of each level, and the rows that lie in a wrong state."""
    out: Row = {}
    for level, names in LEVELS.items():
        apart = counted(made, names).sub(counted(real, names), fill_value=0)
        out[level] = float(apart.abs().sum() / len(real))
    return {**out, "out_of_place": int((made["PUMA"].str[:2] != made["STATE"]).sum())}


def independent(rows: pd.DataFrame) -> Row:
    """The errors of exact counts of single columns, and of no dependence between them."""
    out: Row = {"out_of_place": 0}
    for level, names in LEVELS.items():
        real = counted(rows, names)
        alone = [counted(rows, [n]) / len(rows) for n in names]
        joint = alone[0].to_numpy()
        for one in alone[1:]:
            joint = np.multiply.outer(joint, one.to_numpy())
        index = pd.MultiIndex.from_product([a.index for a in alone], names=names) if len(names) > 1 else alone[0].index
        made = pd.Series(joint.ravel() * len(rows), index=index)
        out[level] = float(made.sub(real, fill_value=0).abs().sum() / len(rows))
    return out


def markdown(rows: Sequence[Row]) -> str:
    """Means over runs, the change that the tree makes beside each."""

    def mean(columns: str, how: str, name: str) -> float | None:
        values = [r[name] for r in rows if (r["columns"], r["how"]) == (columns, how) and name in r]
        return sum(values) / len(values) if values else None

    lines = []
    for columns in COLUMNS:
        for how in (h for h in HOW if mean(columns, h, "puma") is not None):
            cells = []
            for name in LEVELS:
                error, before = mean(columns, how, name), mean(columns, BESIDE.get(how, how), name)
                change = f" ({100 * (error / before - 1):+.0f} %)" if how in BESIDE and error and before else ""
                cells.append(f"{figure(error, 3)}{change}")
            rest = [figure(mean(columns, how, n), d) for n, d in (("out_of_place", 0), ("pair_tv_err", 3))]
            lines.append([COLUMNS[columns], HOW[how], *cells, *rest])
    heads = ("table", "declared", "states", "PUMAs", "by age band and sex", "by year of age and sex")
    return table((*heads, "rows out of place", "all pairs"), lines)


def main(given) -> None:
    def one(folder: Path, cell: Row) -> Row:
        if cell["how"] == "margins":
            return independent(texts(folder / "train.csv"))
        plain = json.loads((folder / "schema.json").read_text())
        asked = json.loads(json.dumps(plain))
        assert facts(folder)["PUMA"]["type"] == facts(folder)["STATE"]["type"] == "categorical"
        if cell["how"] in ("tree", "both"):
            asked["columns"]["PUMA"]["within"] = "STATE"
        if cell["how"] in ("uses", "both"):
            asked["uses"] = [USE]
        (folder / "schema.json").write_text(json.dumps(asked))
        try:
            said = ran_and_scored(folder, cell) if cell["columns"] == "all" else ran(folder, cell)
        finally:
            (folder / "schema.json").write_text(json.dumps(plain))
        if "failed" in said:
            return said
        return said | errors(texts(folder / "train.csv"), texts(folder / "out" / "synthetic.csv"))

    ways = {"epsilon": [given.epsilon], "options": [given.options], "seed": range(given.seeds), "how": given.how}
    cells = grid(table=["nist"], columns=given.columns, **ways)

    def place(columns: str):
        return prepared("nist", lambda folder: with_states(folder, columns))

    print(markdown(measured(given, cells, one, prepare=place, by=("columns",))))


if __name__ == "__main__":
    usual = {"columns": ["few", "all"], "how": ["margins", "none", "tree", "uses", "both"]}
    start(main, json="areas", public=True, epsilon=0.5, seeds=3, options="", **usual)
