"""The flagship's figures on public tables: runs through the command line, scored by the yardstick beside them.

    python benchmarks/flagship.py [--tables acs,adult] [--epsilons 0.2,1,5.1] [--seeds 3] [--method mixture]

Needs the public tables and score.py in ../shared; says so and stops where they are absent. Each run spends in
a ledger of its own. Prints one line a run and a Markdown table of means (and largest difference from the mean);
the JSON goes to benchmarks/results/.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from markdown_tables import means, store

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
SCORES = ("contsim", "tv", "ks", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
ACS_CODES = "COW,SCHL,MAR,OCCP,POBP,RELP,SEX,RAC1P,PINCP"


def read(name: str) -> pd.DataFrame:
    return pd.read_csv(SHARED / "data" / name, dtype=str, keep_default_na=False)


def acs(folder: Path) -> list[str]:
    """80 % of the rows to train on, the rest held out; codes named as categories."""
    rows = read("acs_income_co_2018.csv.gz")
    order = np.random.default_rng(0).permutation(len(rows))
    cut = int(0.8 * len(rows))
    rows.iloc[order[:cut]].to_csv(folder / "train.csv", index=False)
    rows.iloc[order[cut:]].to_csv(folder / "test.csv", index=False)
    return ["--categorical", ACS_CODES, "--target", "PINCP"]


def few(folder: Path) -> list[str]:
    """Seven columns of the same rows, for methods that keep a weight for each combination of values."""
    return _columns(folder, ["AGEP", "COW", "SCHL", "MAR", "SEX", "WKHP", "PINCP"])


def four(folder: Path) -> list[str]:
    """Four columns, for methods that compare all tables of a few rows."""
    return _columns(folder, ["AGEP", "MAR", "SEX", "PINCP"])


def _columns(folder: Path, names: list[str]) -> list[str]:
    acs(folder)
    for part in ("train.csv", "test.csv"):
        pd.read_csv(folder / part, dtype=str, keep_default_na=False)[names].to_csv(folder / part, index=False)
    return ["--categorical", ",".join(n for n in names if n in ACS_CODES.split(",")), "--target", "PINCP"]


def adult(folder: Path) -> list[str]:
    """The published split; the test file's labels lose their dot."""
    read("adult_train.csv.gz").to_csv(folder / "train.csv", index=False)
    test = read("adult_test.csv.gz")
    test["income"] = test["income"].str.rstrip(".")
    test.to_csv(folder / "test.csv", index=False)
    return ["--missing", "?", "--target", "income"]


def credit(folder: Path) -> list[str]:
    rows = read("credit_default_taiwan.csv.gz")
    _halves(rows, folder)
    codes = "SEX,EDUCATION,MARRIAGE,PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,class"
    return ["--categorical", codes, "--target", "class"]


def nist(folder: Path) -> list[str]:
    _halves(read("acs_nist_national_2019.csv.gz"), folder)
    codes = "SEX,MSP,HISP,RAC1P,HOUSING_TYPE,OWN_RENT,INDP,INDP_CAT,EDU,PINCP_DECILE,DVET,DREM,DPHY,DEYE,DEAR"
    return ["--missing", "N", "--categorical", codes]


def diabetes(folder: Path) -> list[str]:
    rows = read("diabetes_130_hospitals.csv.gz").drop(columns=["encounter_id", "patient_nbr"])
    _halves(rows, folder)
    codes = "admission_type_id,discharge_disposition_id,admission_source_id"
    return ["--missing", "?", "--categorical", codes + ",diag_1,diag_2,diag_3", "--target", "readmitted"]


def acs5yr(folder: Path) -> list[str]:
    rows = read("acs_5yr_2013_2017_sample100k.csv.gz").drop(columns=["serialno"])
    rows["high"] = (rows["wagp"].astype(float) > 50_000).map({True: "yes", False: "no"})
    _halves(rows, folder)
    return ["--categorical", "sporder,adjinc,mar,sex,incgroup", "--target", "high"]


def _halves(rows: pd.DataFrame, folder: Path) -> None:
    order = np.random.default_rng(0).permutation(len(rows))
    cut = int(0.8 * len(rows))
    rows.iloc[order[:cut]].to_csv(folder / "train.csv", index=False)
    rows.iloc[order[cut:]].to_csv(folder / "test.csv", index=False)


TABLES = {
    "acs": acs,
    "few": few,
    "four": four,
    "adult": adult,
    "credit": credit,
    "nist": nist,
    "diabetes": diabetes,
    "acs5yr": acs5yr,
}


def call(*command: object) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    if "init" in command and "--assume-public" in command:
        vouched(Path(str(command[command.index("--out") + 1])))
    return done.stdout


def need_tables() -> None:
    """Ends the program where the public tables and score.py are absent."""
    if not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")


def drafted(folder: Path, options: Sequence[str]) -> None:
    """The schema of a folder's train.csv, drafted and vouched for."""
    call(
        sys.executable,
        "-m",
        "synth",
        "schema",
        "init",
        folder / "train.csv",
        "--out",
        folder / "schema.json",
        "--assume-public",
        *options,
    )


@contextmanager
def prepared(table: str) -> Iterator[Path]:
    """A folder with a table's train.csv, test.csv and schema.json; gone afterwards."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        drafted(folder, TABLES[table](folder))
        yield folder


def vouched(path: Path) -> None:
    """Vouches for the lists that a draft sets apart, too: these tables and their code books are published."""
    facts = json.loads(path.read_text())
    facts |= {"unit_source": "declared"} if "unit_source" in facts else {}
    for column in facts["columns"].values():
        column |= {"source": "public", "reason": "a published table"} if "risk" in column else {"source": "public"}
    path.write_text(json.dumps(facts, indent=2))


def one(folder: Path, epsilon: float, method: str, seed: int, *, options: Sequence[str] = (), mark: str = "") -> dict:
    """One run with fresh noise and its scores. ``options``: NAME=VALUE each; ``mark``: of the run's folder."""
    out = folder / f"{method}-{epsilon}-{seed}{mark}"
    synth = (sys.executable, "-m", "synth")
    said = call(
        *synth,
        "run",
        folder / "train.csv",
        "--schema",
        folder / "schema.json",
        "--epsilon",
        epsilon,
        "--delta",
        1e-5,
        "--method",
        method,
        "--out",
        out,
        "--seed",
        seed,
        "--ledger",
        folder / "ledger.sqlite",
        "--json",
        *(part for o in options for part in ("--option", o)),
    )
    run = json.loads(said)
    scored = folder / "scores.json"
    call(
        sys.executable,
        SHARED / "tools" / "score.py",
        "--real",
        folder / "train.csv",
        "--synthetic",
        out / "synthetic.csv",
        "--schema",
        out / "schema.json",
        "--test",
        folder / "test.csv",
        "--no-reference",
        "--json",
        scored,
    )
    kept = ("seconds", "seconds_total", "peak_mib", "epsilon_spent", "epsilon_derived", "num_rows")
    return {**json.loads(scored.read_text()), **{k: run[k] for k in kept}}


def runs(tables: str, epsilons: str, methods: str, seeds: int) -> Iterator[dict]:
    """The scores of every run; texts are lists with commas."""
    for table in tables.split(","):
        with prepared(table) as folder:
            for epsilon, method, seed in product(map(float, epsilons.split(",")), methods.split(","), range(seeds)):
                row = {"table": table, "epsilon": epsilon, "method": method, "seed": seed}
                yield row | one(folder, epsilon, method, seed)


def show(row: dict) -> None:
    """Prints a line of figures."""
    print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)


def markdown(rows: list[dict]) -> str:
    """Means over seeds, with the largest difference from the mean."""
    columns = {n: (n, 4) for n in SCORES} | {"seconds": ("seconds", 1), "peak_mib": ("peak_mib", 0)}
    return means(rows, ("table", "epsilon", "method"), columns, spread=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="acs,adult")
    parser.add_argument("--epsilons", default="0.2,1,5.1")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--method", default="mixture,independent")
    parser.add_argument("--json", default=str(ROOT / "benchmarks" / "results" / "flagship.json"))
    given = parser.parse_args()
    need_tables()
    rows = []
    for row in runs(given.tables, given.epsilons, given.method, given.seeds):
        rows.append(row)
        show(row)
    store(Path(given.json), rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
