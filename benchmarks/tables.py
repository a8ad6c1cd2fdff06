"""Hard tables: unit of privacy, rules across columns, schemas learnt privately.

    python benchmarks/tables.py [--parts unit,rules,learnt] [--seeds 3]

Wide, numeric and incomplete tables with plain settings are measured by flagship.py. Prints Markdown; runs that
benchmarks/results/tables.json holds are passed over.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import DIABETES_CODES, TABLES, drafted, public, ran, scored, texts
from runner import Row, grid, measured, start, sure

UNITS = {
    "row": ("--unit", "row"),
    "patient, 3 rows": ("--unit", "patient_nbr", "--max-rows", 3, "--unlinked"),
    "patient, 1 row": ("--unit", "patient_nbr", "--max-rows", 1),
}
RULED = {"no rules": "schema.json", "rules declared": "ruled.json"}
LEARNT = {"declared": ("schema.json", ()), "learnt": ("kinds.json", ("--learn-share", 0.1))}


def ran_on(folder: Path, cell: Row, *more: object, schema: str = "schema.json") -> Row:
    """A case's run at epsilon 1; ends the program where it fails."""
    return sure(ran(folder, {"epsilon": 1.0, "seed": cell["seed"]}, *more, schema=schema))


def scores_of(folder: Path, *names: str) -> Row:
    scores = scored(folder)
    return {n: scores[n] for n in names if scores.get(n) is not None}


def unit(folder: Path, cell: Row) -> Row:
    """diabetes: what it costs to protect a patient of whom three stays are kept, in place of a stay."""
    answer = ran_on(folder, cell, *UNITS[cell["what"]])
    result = {"seconds": answer["seconds"], "rows": answer["num_rows"]}
    return result | scores_of(folder, "pair_tv_err", "max_pair_tv_err", "tv", "ks")


def nist_rules(real: pd.DataFrame, column: dict) -> list[dict]:
    """What the census publishes beside this table: densities, industry groups, deciles by state, who is asked what.

    The published code books are not at hand; the same facts are read off the table, where they hold without exception.
    """
    density = real.drop_duplicates("PUMA")[["PUMA", "DENSITY"]].values.tolist()
    groups = real.groupby("INDP_CAT")["INDP"].unique()
    industry = [["|".join(codes), group] for group, codes in groups.items()]
    income = real[real["PINCP"] != "N"].assign(state=real["PUMA"].str[:2], value=lambda f: f["PINCP"].astype(float))
    low, high = int(column["min"]), int(column["max"])  # also where nobody's income lies
    deciles = []
    for state, rows in income.groupby("state"):
        areas = "|".join(sorted(real["PUMA"][real["PUMA"].str.startswith(state)].unique()))
        starts = rows.groupby("PINCP_DECILE")["value"].min().astype(int)
        edges = [low, *starts.tolist()[1:], high + 1]
        spans = zip(edges[:-1], edges[1:], starts.index, strict=True)
        deciles += [[areas, f"{a}..{b - 1}", d] for a, b, d in spans]
    children = [("PINCP", "0..14", True), ("EDU", "0..2", True), ("DREM", "0..4", True), ("DPHY", "0..4", True)]
    children += [("MSP", "0..14", True), ("INDP", "0..15", False), ("DVET", "0..16", False)]
    missing = [{"kind": "missing", "column": c, "when": {"AGEP": a}, "only": only} for c, a, only in children]
    return [
        *missing,
        {"kind": "function", "column": "DENSITY", "of": ["PUMA"], "table": density, "otherwise": density[0][1]},
        {"kind": "function", "column": "INDP_CAT", "of": ["INDP"], "table": industry, "otherwise": "N"},
        {"kind": "function", "column": "PINCP_DECILE", "of": ["PUMA", "PINCP"], "table": deciles, "otherwise": "N"},
    ]


def broken(real: pd.DataFrame, made: pd.DataFrame) -> dict:
    """Shares of rows that break what always holds in the real table."""
    density, group = (dict(real[p].drop_duplicates().values) for p in (["PUMA", "DENSITY"], ["INDP", "INDP_CAT"]))
    income = real[real["PINCP"] != "N"].assign(s=lambda f: f["PUMA"].str[:2], v=lambda f: f["PINCP"].astype(float))
    cuts = income.groupby(["s", "PINCP_DECILE"])["v"].min()
    wrong = []
    for state, rows in made[made["PINCP"] != "N"].groupby(made["PUMA"].str[:2]):
        starts = cuts[state]
        place = np.searchsorted(starts.to_numpy(), rows["PINCP"].astype(float), side="right") - 1
        wrong.append(rows["PINCP_DECILE"].to_numpy() != starts.index.to_numpy()[np.maximum(place, 0)])
    age = made["AGEP"].astype(float)
    number = pd.to_numeric(made["DENSITY"])
    return {
        "PUMA -> DENSITY broken": float((number != pd.to_numeric(made["PUMA"].map(density))).mean()),
        "INDP -> INDP_CAT broken": float((made["INDP_CAT"] != made["INDP"].map(group)).mean()),
        "PINCP, state -> decile broken": float(np.concatenate(wrong).sum() / len(made)),
        "children with an income": float(((age < 15) & (made["PINCP"] != "N")).mean()),
        "adults without": float(((age >= 15) & (made["PINCP"] == "N")).mean()),
    }


def rules(folder: Path, cell: Row) -> Row:
    """nist: functional dependencies and structural missing values, without and with rules declared."""
    answer = ran_on(folder, cell, schema=RULED[cell["what"]])
    result = broken(texts(folder / "train.csv"), texts(folder / "out" / "synthetic.csv"))
    return {"seconds": answer["seconds"]} | result | scores_of(folder, "pair_tv_err", "max_pair_tv_err")


def learnt(folder: Path, cell: Row) -> Row:
    """adult: names, kinds and the code for missing are public; everything else is learnt within epsilon 1."""
    schema, options = LEARNT[cell["what"]]
    answer = ran_on(folder, cell, *options, schema=schema)
    return {"seconds": answer["seconds"]} | scores_of(folder, "pair_tv_err", "tstr_auc", "logreg_f1", "ks", "tv")


@contextmanager
def place(part: str) -> Iterator[Path]:
    """The table of a part."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        if part == "unit":
            rows = public("diabetes_130_hospitals.csv.gz").drop(columns=["encounter_id"])
            rows.to_csv(folder / "train.csv", index=False)
            rows.sample(5000, random_state=0).to_csv(folder / "test.csv", index=False)
            options = ["--missing", "?", "--categorical", DIABETES_CODES, "--target", "readmitted"]
            drafted(folder, [*options, "--identifier", "patient_nbr"])
        elif part == "rules":
            options, real = TABLES["nist"](folder), public("acs_nist_national_2019.csv.gz")
            real.to_csv(folder / "train.csv", index=False)
            schema = drafted(folder, options)
            declared = nist_rules(real, schema["columns"]["PINCP"])
            (folder / "ruled.json").write_text(json.dumps({**schema, "constraints": declared}))
        else:
            schema = drafted(folder, TABLES["adult"](folder))
            kinds = {n: {"type": c["type"], "missing": ["?"]} for n, c in schema["columns"].items()}
            (folder / "kinds.json").write_text(json.dumps({"target": "income", "columns": kinds}))
        yield folder


PARTS = {"unit": (unit, UNITS), "rules": (rules, RULED), "learnt": (learnt, LEARNT)}


def markdown(rows: list[Row]) -> str:
    """One table a part: means over seeds, and the largest difference from the mean."""
    out = []
    for part in dict.fromkeys(r["part"] for r in rows):
        mine = [r for r in rows if r["part"] == part]
        names = [n for n in mine[0] if n not in ("part", "what", "seed")]
        digits = {n: 1 if "seconds" in n else 0 if n in ("rows", "peak_mib") else 4 for n in names}
        out += [f"\n### {part}\n", means(mine, ("what",), digits, spread=True)]
    return "\n".join(out)


def main(given) -> None:
    cells = []
    for part in given.parts:
        cells += grid(part=[part], what=PARTS[part][1], seed=range(given.seeds))
    one = lambda folder, cell: PARTS[cell["part"]][0](folder, cell)  # noqa: E731
    print(markdown(measured(given, cells, one, prepare=place, by=("part",))))


if __name__ == "__main__":
    start(main, public=True, json="tables", parts=",".join(PARTS), seeds=3)
