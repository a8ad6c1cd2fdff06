"""Twenty published tables of the 5-year sample that hold to the unit, and public columns: what they do to the rest.

    python benchmarks/totals.py [--rows 20000] [--epsilon 0.5] [--seeds 3] [--how none,totals,public] [--json FILE]

`totals`: one-, two- and three-way tables of the private rows are declared as published, two of them rounded to 5; the
cells of all of them that the synthetic table disagrees with, and how far the rest is from the real rows, beside the
same run without (`none`). `public`: age, sex and state pass through row by row, under replace_one (`replaced` is the
same run without). Every run goes through the command line with fresh noise. Needs the public tables in ../shared.
Prints Markdown.
"""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import acs5yr, prepared, ran_and_scored, texts
from runner import Row, grid, measured, start

AGES, COARSE = (*range(0, 95, 5), 95), (0, 25, 35, 45, 55, 65, 75)
EDGES = {
    "agep": COARSE,
    "age5": AGES,
    "pincp": (-20_000, 1, 15_001, 30_001, 60_001, 100_001),
    "wagp": (0, 1, 20_001, 50_001),
    "pwgtp": (0, 11, 21, 41),
}
TABLES = (
    *("sex", "age5", "stabbr", "mar", "incgroup"),
    *("sex age5", "stabbr sex", "stabbr mar", "mar sex", "agep mar", "incgroup sex", "incgroup agep", "pincp sex"),
    *("wagp agep", "sporder mar", "adjinc stabbr", "sex agep mar", "stabbr sex agep", "incgroup sex pincp"),
    "pwgtp stabbr",
)
ROUNDED = ("sporder mar", "adjinc stabbr")
PUBLIC = ("agep", "sex", "stabbr")
OFF = {"cells_off": 0, "pair_tv_err": 4, "ks": 4, "tstr_auc": 4, "c2st_auc": 3, "seconds": 0}


def part(rows: pd.DataFrame, name: str, column: dict) -> pd.Series:
    """The part of each row as the totals name it."""
    values = rows["agep" if name == "age5" else name]
    if name not in EDGES:
        return values.where(values.isin(column["categories"]), "")
    number = values.astype(float).clip(float(column["min"]), float(column["max"]))
    low = [max(e, float(column["min"])) for e in EDGES[name] if e <= float(column["max"])]
    low[0] = float(column["min"])
    step = 10.0 ** -column.get("decimals", 0) if column["type"] == "float" else 1.0
    high = [b - step for b in low[1:]] + [float(column["max"])]
    digits = column.get("decimals", 0) if column["type"] == "float" else 0
    names = np.array([f"{a:.{digits}f}..{b:.{digits}f}" for a, b in zip(low, high, strict=True)])
    return pd.Series(names[np.searchsorted(low, number, side="right") - 1], index=rows.index)


def counted(rows: pd.DataFrame, table: str, columns: dict) -> pd.Series:
    """Rows by the table's parts."""
    names = table.split()
    parts = {n: part(rows, n, columns["agep" if n == "age5" else n]) for n in names}
    return pd.DataFrame(parts).groupby(names).size()


def totals(rows: pd.DataFrame, columns: dict) -> list[dict]:
    """The schema's lines of all twenty tables."""
    out = []
    for table in TABLES:
        base = 5 if table in ROUNDED else 1
        counts = counted(rows, table, columns)
        lines = [[*(k if isinstance(k, tuple) else (k,)), str(base * round(n / base))] for k, n in counts.items()]
        names = ["agep" if n == "age5" else n for n in table.split()]
        one = {"columns": names, "counts": lines, "unlisted": "zero", "published": "counted for this experiment"}
        out.append({**one, "rounded": base} if base > 1 else one)
    return out


def cells_off(real: pd.DataFrame, made: pd.DataFrame, columns: dict) -> int:
    """Cells of all tables whose counts differ by more than their rounding; counted apart from the program's check."""
    wrong = 0
    for table in TABLES:
        base = 5 if table in ROUNDED else 1
        both = pd.concat([counted(x, table, columns) for x in (real, made)], axis=1).fillna(0).to_numpy()
        wrong += int((np.abs(base * np.round(both[:, 0] / base) - both[:, 1]) > base // 2).sum())
    return wrong


def alike(real: pd.Series, made: pd.Series) -> bool:
    """Whether all values are the same, in their order, as texts or as numbers."""
    if (real == made).all():
        return True
    return bool((pd.to_numeric(real, errors="coerce") == pd.to_numeric(made, errors="coerce")).all())


def main(given) -> None:
    def laid(_: str):
        def whole(folder: Path) -> list[str]:
            options = acs5yr(folder)
            rows = texts(folder / "train.csv")
            rows.sample(min(given.rows, len(rows)), random_state=0).to_csv(folder / "train.csv", index=False)
            return options

        return prepared("acs5yr", whole)

    def one(folder: Path, cell: Row) -> Row:
        facts = json.loads((folder / "schema.json").read_text())
        rows = texts(folder / "train.csv")
        plain = json.loads(json.dumps(facts))
        if cell["how"] == "totals":
            plain["totals"] = totals(rows, facts["columns"])
        if cell["how"] == "public":
            for name in PUBLIC:
                plain["columns"][name] |= {"role": "public", "reason": "published for experiments"}
        (folder / "schema.json").write_text(json.dumps(plain))
        more = ["--relation", "replace_one"] if cell["how"] in ("public", "replaced") else []
        try:
            said = ran_and_scored(folder, cell, *more)
        finally:
            (folder / "schema.json").write_text(json.dumps(facts))
        if "failed" in said:
            return said
        made = texts(folder / "out" / "synthetic.csv")
        said |= {"cells_off": cells_off(rows, made, facts["columns"])}
        if cell["how"] == "public":
            said["passed"] = all(alike(rows[n], made[n]) for n in PUBLIC)
        return said

    ways = {"epsilon": [given.epsilon], "options": [given.options], "seed": range(given.seeds), "how": given.how}
    cells = grid(table=["acs5yr"], rows=[given.rows], **ways)
    print(means(measured(given, cells, one, prepare=laid), ("how",), OFF))


if __name__ == "__main__":
    how = ["none", "totals", "replaced", "public"]
    start(main, json="totals", public=True, rows=20_000, epsilon=0.5, seeds=3, options="", how=how)
