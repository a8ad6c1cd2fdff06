"""An outside judge of our tables: SynthEval, called as its users call it, on tables of ``synth.Synthesizer``.

    python benchmarks/outside_judges.py [--tables acs] [--methods mixture,independent] [--epsilon 1] [--seeds 3]
                                        [--python ENV/bin/python] [--json FILE]

Needs the public tables in ../shared, and a package index for the first run, which makes the environment build/syntheval
(syntheval 1.7.3) unless ``--python`` names one. The judge compares every row with every other, so that 4,000 rows of
each table are taken, drawn with a fixed seed; other real rows are judged beside the methods. It takes no empty number.
Its users drop or fill such rows beforehand, and so it is done here: a number that is empty is written as the code that
its source has for it (Adult's capital-gain: 99999); a row whose number is empty without such a code is left out, in
every table alike. Prints Markdown, which docs/evidence.md holds.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
from flagship import ROOT, call, need_tables, prepared
from markdown_tables import means

import synth

RESULTS = ROOT / "benchmarks" / "results" / "outside_judges.json"
PLACE = ROOT / "build" / "syntheval"
PACKAGE = "syntheval==1.7.3"
MOST = 4000
KEY = ("table", "epsilon", "method", "seed")
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


def environment() -> str:
    """The Python that has the judge, made if it is not there."""
    if not (PLACE / "ready").exists():
        call(sys.executable, "-m", "venv", PLACE)
        call(PLACE / "bin" / "pip", "install", "--quiet", PACKAGE)
        (PLACE / "ready").touch()
    return str(PLACE / "bin" / "python")


def drawn(path: Path) -> pd.DataFrame:
    """The rows in a random order, the same each time; whole numbers without a point, as synthetic rows have them."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).sample(frac=1, random_state=0)
    return rows.apply(lambda column: column.str.replace(r"\.0$", "", regex=True))


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
    told = {n: str(folder / f"{n}.csv") for n in sides} | {"target": schema.target, "codes": codes}
    (folder / "place.json").write_text(json.dumps(told))
    done = subprocess.run(
        [python, str(ROOT / "benchmarks" / "syntheval_score.py"), str(folder / "place.json")],
        capture_output=True,
        text=True,
        cwd=folder,
    )  # it leaves pictures where it runs
    if done.returncode:
        sys.exit(f"syntheval: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(python: str, table: str, methods: list[str], epsilon: float, seeds: int) -> list[dict]:
    """A line for other real rows, and one for each method and seed."""
    out = []
    with prepared(table) as folder:
        schema = synth.Schema.load(folder / "schema.json")
        other = drawn(folder / "train.csv")[MOST:]
        out.append(
            {
                **judged(python, folder, other, schema),
                "table": table,
                "epsilon": None,
                "seed": 0,
                "method": "other real rows",
            }
        )
        for method in methods:
            for seed in range(seeds):
                made = synth.Synthesizer(schema, method=method, delta=1e-5, ledger=folder / "ledger.sqlite")
                made.fit(folder / "train.csv", epsilon=epsilon)
                out.append(
                    {
                        **judged(python, folder, made.sample(MOST, seed=seed), schema),
                        "table": table,
                        "epsilon": epsilon,
                        "seed": seed,
                        "method": method,
                    }
                )
                print(out[-1], flush=True)
    return out


def markdown(rows: list[dict]) -> str:
    return means(rows, ("table", "epsilon", "method"), METRICS, runs="runs")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="acs")
    parser.add_argument("--methods", default="mixture,independent")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--python", default="")
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    need_tables()
    python = given.python or environment()
    rows = json.loads(given.json.read_text()) if given.json.exists() else []
    for table in given.tables.split(","):
        new = measured(python, table, given.methods.split(","), given.epsilon, given.seeds)
        done = {tuple(r[k] for k in KEY) for r in new}
        rows = [r for r in rows if tuple(r[k] for k in KEY) not in done] + new
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
