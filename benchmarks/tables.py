"""Hard tables: unit of privacy, rules across columns, schemas learnt privately, many columns.

    python benchmarks/tables.py [--parts unit,rules,learnt,columns] [--seeds 3]

Needs the public tables and score.py in ../shared (the part `columns` does not); says so and stops without them.
Wide, numeric and incomplete tables with plain settings are measured by flagship.py. Prints Markdown; JSON goes to
benchmarks/results/tables.json.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from flagship import ROOT, SHARED, TABLES, call, drafted, read, show
from markdown_tables import means, store

SYNTH = (sys.executable, "-m", "synth")


def run(
    folder: Path, *options: object, epsilon: float = 1.0, table: str = "train.csv", schema: str = "schema.json"
) -> dict:
    """One run through the command line; its JSON answer."""
    said = call(
        *SYNTH,
        "run",
        folder / table,
        "--schema",
        folder / schema,
        "--epsilon",
        epsilon,
        "--delta",
        1e-5,
        "--out",
        folder / "out",
        "--ledger",
        folder / "ledger.sqlite",
        "--json",
        *options,
    )
    return json.loads(said)


def scored(folder: Path, schema: str = "schema.json") -> dict:
    call(
        sys.executable,
        SHARED / "tools" / "score.py",
        "--real",
        folder / "train.csv",
        "--synthetic",
        folder / "out" / "synthetic.csv",
        "--schema",
        folder / schema,
        "--test",
        folder / "test.csv",
        "--no-reference",
        "--json",
        folder / "scores.json",
    )
    return json.loads((folder / "scores.json").read_text())


def facts_of(folder: Path, options: list[str]) -> dict:
    """The schema as `schema init --assume-public` drafts it from the training rows."""
    drafted(folder, options)
    return json.loads((folder / "schema.json").read_text())


def unit(folder: Path, seeds: int) -> list[dict]:
    """diabetes: what it costs to protect a patient of whom three stays are kept, in place of a stay."""
    rows = read("diabetes_130_hospitals.csv.gz").drop(columns=["encounter_id"])
    rows.to_csv(folder / "train.csv", index=False)
    rows.sample(5000, random_state=0).to_csv(folder / "test.csv", index=False)
    codes = "admission_type_id,discharge_disposition_id,admission_source_id,diag_1,diag_2,diag_3"
    drafted(folder, ["--missing", "?", "--categorical", codes, "--target", "readmitted", "--identifier", "patient_nbr"])
    made = []
    for name, options in (
        ("row", ()),
        ("patient, 3 rows", ("--unit", "patient_nbr", "--max-rows", 3)),
        ("patient, 1 row", ("--unit", "patient_nbr", "--max-rows", 1)),
    ):
        for seed in range(seeds):
            answer = run(folder, "--seed", seed, *options)
            row = {"part": "unit", "what": name, "seconds": answer["seconds"], "rows": answer["num_rows"]}
            made.append(row | _kept(scored(folder), "pair_tv_err", "max_pair_tv_err", "tv", "ks"))
    return made


def _kept(scores: dict, *names: str) -> dict:
    return {n: scores[n] for n in names if scores.get(n) is not None}


def nist_rules(real: pd.DataFrame) -> list[dict]:
    """What the census publishes beside this table: densities, industry groups, deciles by state, who is asked what.

    The published code books are not at hand; the same facts are read off the table, where they hold without exception.
    """
    density = real.drop_duplicates("PUMA")[["PUMA", "DENSITY"]].values.tolist()
    groups = real.groupby("INDP_CAT")["INDP"].unique()
    industry = [["|".join(codes), group] for group, codes in groups.items()]
    income = real[real["PINCP"] != "N"].assign(state=real["PUMA"].str[:2], value=lambda f: f["PINCP"].astype(float))
    low, high = int(income["value"].min()), int(income["value"].max())
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
    income = real[real["PINCP"] != "N"]
    cuts = (
        income.assign(s=income["PUMA"].str[:2], v=income["PINCP"].astype(float))
        .groupby(["s", "PINCP_DECILE"])["v"]
        .min()
    )
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


def rules(folder: Path, seeds: int) -> list[dict]:
    """nist: functional dependencies and structural missing values, without and with rules declared."""
    real = read("acs_nist_national_2019.csv.gz")
    options = TABLES["nist"](folder)
    real.to_csv(folder / "train.csv", index=False)
    schema = facts_of(folder, options)
    (folder / "ruled.json").write_text(json.dumps({**schema, "constraints": nist_rules(real)}))
    made = []
    for name, file in (("no rules", "schema.json"), ("rules declared", "ruled.json")):
        for seed in range(seeds):
            answer = run(folder, "--seed", seed, schema=file)
            table = pd.read_csv(folder / "out" / "synthetic.csv", dtype=str, keep_default_na=False)
            row = {"part": "rules", "what": name, "seconds": answer["seconds"]}
            made.append(row | broken(real, table) | _kept(scored(folder), "pair_tv_err", "max_pair_tv_err"))
    return made


def learnt(folder: Path, seeds: int) -> list[dict]:
    """adult: names, kinds and the code for missing are public; everything else is learnt within epsilon 1."""
    schema = facts_of(folder, TABLES["adult"](folder))
    kinds = {n: {"type": c["type"], "missing": ["?"]} for n, c in schema["columns"].items()}
    (folder / "kinds.json").write_text(json.dumps({"target": "income", "columns": kinds}))
    made = []
    for name, options in (
        ("declared", ("--schema", folder / "schema.json")),
        ("learnt", ("--schema", folder / "kinds.json", "--learn-share", 0.1)),
    ):
        for seed in range(seeds):
            answer = run(folder, "--seed", seed, *options)
            row = {"part": "learnt", "what": name, "seconds": answer["seconds"]}
            made.append(row | _kept(scored(folder), "pair_tv_err", "tstr_auc", "logreg_f1", "ks", "tv"))
    return made


def simulated(columns: int, rows: int, rng: np.random.Generator) -> tuple[pd.DataFrame, dict]:
    """Columns of 2 to 20 categories that depend on a hidden class of ten."""
    hidden = rng.integers(0, 10, rows)
    frame, facts = {}, {}
    for j in range(columns):
        size = int(rng.integers(2, 21))
        laws = rng.dirichlet(np.full(size, 0.5), 10).cumsum(1)
        frame[f"c{j}"] = (rng.random(rows)[:, None] > laws[hidden]).sum(1).clip(0, size - 1)
        facts[f"c{j}"] = {"type": "categorical", "categories": [str(k) for k in range(size)]}
    return pd.DataFrame(frame), {"columns": facts}


def columns(folder: Path, _: int) -> list[dict]:
    """Peak memory and seconds for 10 to 200 columns of 100,000 rows, and the error of a random sample of pairs."""
    made = []
    for count in (10, 50, 100, 200):
        frame, schema = simulated(count, 100_000, np.random.default_rng(count))
        frame.to_csv(folder / "train.csv", index=False)
        (folder / "schema.json").write_text(json.dumps(schema))
        answer = run(folder)
        table = pd.read_csv(folder / "out" / "synthetic.csv")
        error = [_pair(frame, table, *p) for p in _some_pairs(count)]
        floor = [_pair(frame, frame.sample(len(frame), replace=True, random_state=0), *p) for p in _some_pairs(count)]
        alone = frame.apply(lambda c: c.sample(frac=1, random_state=abs(hash(c.name)) % 2**32).to_numpy())
        apart = [_pair(frame, alone, *p) for p in _some_pairs(count)]
        made.append(
            {
                "part": "columns",
                "what": f"{count} columns",
                "seconds": answer["seconds"],
                "seconds_total": answer["seconds_total"],
                "peak_mib": answer["peak_mib"],
                "pair_tv_err": float(np.mean(error)),
                "bootstrap": float(np.mean(floor)),
                "independent": float(np.mean(apart)),
            }
        )
    return made


def _some_pairs(count: int) -> list[tuple[str, str]]:
    rng = np.random.default_rng(0)
    return [tuple(f"c{j}" for j in rng.choice(count, 2, replace=False)) for _ in range(200)]


def _pair(a: pd.DataFrame, b: pd.DataFrame, x: str, y: str) -> float:
    tables = [np.bincount(f[x] * 32 + f[y], minlength=1024) / len(f) for f in (a, b)]
    return 0.5 * float(np.abs(tables[0] - tables[1]).sum())


PARTS = {"unit": unit, "rules": rules, "learnt": learnt, "columns": columns}


def markdown(rows: list[dict]) -> str:
    """One table a part: means over seeds, and the largest difference from the mean."""
    out = []
    for part in dict.fromkeys(r["part"] for r in rows):
        mine = [r for r in rows if r["part"] == part]
        names = [n for n in mine[0] if n not in ("part", "what")]
        columns = {n: (n, 1 if "seconds" in n else 0 if n in ("rows", "peak_mib") else 4) for n in names}
        out += [f"\n### {part}\n", means(mine, ("what",), columns, spread=True)]
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="unit,rules,learnt,columns")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "tables.json"))
    given = parser.parse_args()
    if not SHARED.exists() and given.parts != "columns":
        sys.exit("the public tables and score.py are not beside this checkout; only --parts columns can be measured")
    rows = []
    for part in given.parts.split(","):
        with tempfile.TemporaryDirectory() as name:
            for row in PARTS[part](Path(name), given.seeds):
                rows.append(row)
                show(row)
    store(Path(given.json), rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
