"""Counts by area of NIST's national table, with and without a declared tree of areas.

    python benchmarks/areas.py [--epsilon 0.5] [--seeds 3] [--how none,tree,uses,both] [--json FILE]

A column STATE is made of the first two characters of PUMA. `tree`: the schema says that each PUMA lies within its state
(its code begins with it); `none`: the same columns, undeclared. `uses`: PUMA by AGEP by SEX is named as what the table
is for, without the tree; `both`: with it. The error of a level is the sum of |synthetic - real| over its cells, per row
of the real table: states, PUMAs, and PUMAs by sex and age, in years and in bands of five. `out of place`: rows whose
state is not that of their PUMA. Every run goes through the command line with fresh noise. Needs the public tables in
../shared. Prints Markdown.
"""

import json
from pathlib import Path

import pandas as pd
from markdown_tables import means
from public_tables import facts, nist, prepared, ran_and_scored, texts
from runner import Row, grid, measured, start

USE = "PUMA by AGEP by SEX"
LEVELS = {
    "state": ["STATE"],
    "puma": ["PUMA"],
    "bands": ["PUMA", "band", "SEX"],
    "years": ["PUMA", "AGEP", "SEX"],
}
OFF = {
    **{name: (f"error: {name}", 4) for name in LEVELS},
    "out_of_place": ("out of place", 0),
    "pair_tv_err": ("pairs", 4),
    "ks": ("ks", 4),
    "auc": ("auc", 3),
    "seconds": ("seconds", 0),
}


def with_states(folder: Path) -> list[str]:
    """The usual halves, each with the state of a row's PUMA before it."""
    options = nist(folder)
    for name in ("train.csv", "test.csv"):
        rows = texts(folder / name)
        rows.insert(0, "STATE", rows["PUMA"].str[:2])
        rows.to_csv(folder / name, index=False)
    return [*options[:-1], f"STATE,PUMA,{options[-1]}"]


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


def main(given) -> None:
    def one(folder: Path, cell: Row) -> Row:
        plain = json.loads((folder / "schema.json").read_text())
        asked = json.loads(json.dumps(plain))
        assert facts(folder)["PUMA"]["type"] == facts(folder)["STATE"]["type"] == "categorical"
        if cell["how"] in ("tree", "both"):
            asked["columns"]["PUMA"]["within"] = "STATE"
        if cell["how"] in ("uses", "both"):
            asked["uses"] = [USE]
        (folder / "schema.json").write_text(json.dumps(asked))
        try:
            said = ran_and_scored(folder, cell)
        finally:
            (folder / "schema.json").write_text(json.dumps(plain))
        if "failed" in said:
            return said
        return said | errors(texts(folder / "train.csv"), texts(folder / "out" / "synthetic.csv"))

    cells = grid(
        table=["nist"], epsilon=[given.epsilon], options=[given.options], seed=range(given.seeds), how=given.how
    )
    results = measured(given, cells, one, prepare=lambda table: prepared(table, with_states))
    print(means(results, ("how",), OFF))


if __name__ == "__main__":
    start(
        main,
        json="areas",
        public=True,
        epsilon=0.5,
        seeds=3,
        options="",
        how=["none", "tree", "uses", "both"],
    )
