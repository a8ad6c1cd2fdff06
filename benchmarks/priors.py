"""What a public table beside the private one is worth: fair, biased and useless ones, at small and at usual budgets.

    python benchmarks/priors.py [--epsilons 0.1,1] [--seeds 3] [--tables adult,acs,waves] [--json FILE]

Adult: 32,384 private rows and public tables of 3,238 rows from fair (`025`) to strongly biased (`100`), splits
published by the authors of JAM-PGM; the mean L1 distance (twice the total variation) of all tables of three columns,
delta 1e-9, replace_one. `permuted`: the fair one with each column shuffled by itself, which tells nothing of columns
together. ACSIncome: a tenth of the rows set apart as public; the mean total variation of pairs, add_remove. Waves:
thirds of the hospital table by encounter, epsilon 0.5 each; the third one's pairs alone, and with the releases of all
earlier waves as priors of each. Every run goes through the command line with fresh noise. Needs the public tables in
../shared. Prints Markdown, which docs/uses.md holds.
"""

import gzip
import shutil
import sys
from contextlib import contextmanager
from json import loads
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from markdown_tables import means
from public_tables import DIABETES_CODES, call, prepared, public, ran, scored, texts
from runner import SHARED, Row, grid, measured, start

TRIPLES, DATA = SHARED / "tools" / "triples.py", SHARED / "data" / "adult_prior"
NUMBERS = ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
ADULT = ("none", "fair", "biased 075", "biased 100", "permuted")
FILES = {"fair": "public_025", "biased 075": "public_075", "biased 100": "public_100"}
WHY = ("--prior-reason", "published for experiments")
OFF = {"L1 of 3 columns": 3, "pair_tv_err": 4, "seconds": 0}


@contextmanager
def place(table: str):
    """The private rows, their schema, and every public table."""
    with {"adult": adult, "acs": acs, "waves": waves}[table]() as folder:
        yield folder


@contextmanager
def adult():
    with TemporaryDirectory() as name:
        folder = Path(name)
        call(sys.executable, TRIPLES, "schema", DATA, "--numbers", ",".join(NUMBERS), "--out", folder / "schema.json")
        for made, retained in [("train", "private"), *FILES.items()]:
            with gzip.open(DATA / f"{retained}.csv.gz") as source, (folder / f"{made}.csv").open("wb") as rest:
                shutil.copyfileobj(source, rest)
        fair, rng = pd.read_csv(folder / "fair.csv"), np.random.default_rng(0)
        fair.apply(rng.permutation).to_csv(folder / "permuted.csv", index=False)
        yield folder


@contextmanager
def acs():
    with prepared("acs") as folder:
        rows = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False)
        public = rows.sample(frac=0.1, random_state=0)
        public.to_csv(folder / "a tenth.csv", index=False)
        rows.drop(public.index).to_csv(folder / "train.csv", index=False)
        yield folder


@contextmanager
def waves():
    """Thirds of the hospital table in the order of encounters; train.csv is the last."""

    def whole(folder: Path) -> list[str]:
        rows = public("diabetes_130_hospitals.csv.gz")
        rows = rows.iloc[rows["encounter_id"].astype(int).argsort()].drop(columns=["encounter_id", "patient_nbr"])
        rows.to_csv(folder / "train.csv", index=False)
        rows.iloc[:100].to_csv(folder / "test.csv", index=False)  # of no figure here
        return ["--missing", "?", "--categorical", DIABETES_CODES, "--target", "readmitted"]

    with prepared("waves", whole) as folder:
        rows = texts(folder / "train.csv")
        third = -(-len(rows) // 3)
        for i in range(3):
            rows.iloc[i * third : (i + 1) * third].to_csv(folder / f"wave{i}.csv", index=False)
        yield folder


def in_waves(folder: Path, cell: Row) -> Row:
    """The last of three waves, alone or each with all before as its priors."""
    prior: tuple[object, ...] = ()
    for i in (0, 1, 2) if cell["prior"] == "series" else (2,):
        shutil.copy(folder / f"wave{i}.csv", folder / "train.csv")
        said = ran(folder, cell, *prior)
        if "failed" in said:
            return said
        retained = folder / f"release{i}"
        shutil.rmtree(retained, ignore_errors=True)
        shutil.copytree(folder / "out", retained)
        prior = (*prior, "--prior", retained)
    return {"seconds": said["seconds_total"], "pair_tv_err": scored(folder)["pair_tv_err"]}


def one(folder: Path, cell: Row) -> Row:
    """One run and its scores; of a prior alone the scores of its rows."""
    if cell["table"] == "waves":
        return in_waves(folder, cell)
    known, adult = folder / f"{cell['prior']}.csv", cell["table"] == "adult"
    prior = () if cell["prior"] == "none" else ("--prior", known, *WHY)
    more = ("--relation", "replace_one") if adult else ()
    made, said = known, {}
    if cell["epsilon"]:
        said = ran(folder, cell | ({"delta": 1e-9} if adult else {}), *prior, *more)
        if "failed" in said:
            return said
        made = folder / "out" / "synthetic.csv"
    result = loads(call(sys.executable, TRIPLES, "score", DATA, made)) if adult else scored(folder, made)
    return {"seconds": said.get("seconds_total")} | {k: result[k] for k in OFF if k in result}


def cases(given) -> list[Row]:
    """With each prior, and each prior alone (epsilon 0)."""
    results = []
    for table in given.tables:
        if table == "waves":
            results += grid(table=[table], prior=("none", "series"), epsilon=[0.5], seed=range(given.seeds))
            continue
        priors = ADULT if table == "adult" else ("none", "a tenth")
        epsilons = given.epsilons if table == "adult" else [0.2]
        results += grid(table=[table], prior=priors, epsilon=epsilons, seed=range(given.seeds))
        results += grid(
            table=[table], prior=[p for p in priors if p not in ("none", "permuted")], epsilon=[0], seed=[0]
        )
    return results


def markdown(rows: list[Row]) -> str:
    """A line for each table, prior and epsilon."""
    return means(rows, ["table", "epsilon", "prior"], OFF)


def main(given) -> None:
    print(markdown(measured(given, cases(given), one, prepare=place)))


if __name__ == "__main__":
    start(main, public=True, json="priors", tables="adult,acs,waves", epsilons=[0.1, 1.0], seeds=3)
