"""What a public table beside the private one is worth: fair, biased and useless ones, at small and at usual budgets.

    python benchmarks/priors.py [--epsilons 0.1,1] [--seeds 3] [--tables adult,few,nist,acs,credit,waves] [--json FILE]

Adult: 32,384 private rows and public tables of 3,238 rows from fair (`025`) to strongly biased (`100`), splits
published by the authors of JAM-PGM; the mean L1 distance (twice the total variation) of all tables of three columns,
delta 1e-9, replace_one. `permuted`: the fair one with each column shuffled by itself, which tells nothing of columns
together. `few`: 1,000 of the private rows; beside them as many public rows, drawn by weights that give them the
release's single columns. `nist`, `acs`, `credit`: so too with nine columns, one of 56 to 96 values, and 300 public
rows, by chance or (`100`) the likelier the larger the first column; beside them the method independent. Waves: thirds
of the hospital table by encounter, epsilon 0.5 each; the third one's pairs alone, and with the releases of all earlier
waves as priors of each. Every run goes through the command line with fresh noise. Needs the public tables in ../shared.
Prints Markdown, which docs/uses.md holds.
"""

import shutil
import sys
from contextlib import contextmanager
from functools import partial
from json import dumps, loads
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
SMALL = {
    "nist": ("acs_nist_national_2019", "AGEP,SEX,MSP,RAC1P,HOUSING_TYPE,OWN_RENT,EDU,PINCP_DECILE,DVET"),
    "acs": ("acs_income_co_2018", "AGEP,COW,SCHL,MAR,RELP,WKHP,SEX,RAC1P,PINCP"),
    "credit": ("credit_default_taiwan", "AGE,SEX,EDUCATION,MARRIAGE,PAY_0,PAY_2,PAY_3,PAY_4,class"),
}
FEW = ("few", *SMALL)
WHY = ("--prior-reason", "published for experiments")
L1 = "L1 of 3 columns"
OFF = {L1: 3, "raked public rows": 3, "pair_tv_err": 4, "seconds": 0}


def place(table: str):
    """The private rows, their schema, and every public table."""
    made = {"adult": adult, "few": partial(adult, 1000), "waves": waves} | {n: partial(small, n) for n in SMALL}
    return made[table]()


@contextmanager
def beside(own: pd.DataFrame, known: dict[str, pd.DataFrame], sizes: str, numbers: list[str]):
    """The private rows as codes, of so many of each column, and public tables; the fair one permuted too."""
    made = {"train": own, **known, "permuted": known["fair"].apply(np.random.default_rng(0).permutation)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "domain.json").write_text(sizes)
        call(sys.executable, TRIPLES, "schema", folder, "--numbers", ",".join(numbers), "--out", folder / "schema.json")
        for place, rows in [*((f"{n}.csv", t) for n, t in made.items()), ("private.csv.gz", own)]:
            rows.to_csv(folder / place, index=False)
        yield folder


def adult(rows: int | None = None):
    """Adult, or so many of its private rows."""
    own, *known = (pd.read_csv(DATA / f"{n}.csv.gz") for n in ("private", *FILES.values()))
    own = own.sample(rows, random_state=0) if rows else own
    return beside(own, dict(zip(FILES, known, strict=True)), (DATA / "domain.json").read_text(), NUMBERS)


def small(table: str):
    """1,000 rows of a table, and 300 others."""
    file, names = SMALL[table]
    rows = public(f"{file}.csv.gz")[names.split(",")].apply(pd.to_numeric, errors="coerce").fillna(-1)
    rows = rows.rank(method="dense").astype(int) - 1
    own, first = rows.sample(1000, random_state=0), names.split(",")[0]
    draw = partial(rows.drop(own.index).sample, 300, random_state=1)
    known = {"fair": draw(), "biased 100": draw(weights=rows[first].drop(own.index) ** 2)}
    return beside(own, known, dumps((rows.max() + 1).to_dict()), [first, "WKHP", "SCHL"])


def raked(folder: Path, known: Path, made: Path) -> Path:
    """As many public rows as a table has, drawn by weights that give them the table's single columns."""
    rows, goal = texts(known), texts(made)
    weights = pd.Series(1.0, rows.index)
    for _ in range(30):
        for name in rows:
            times = goal[name].value_counts() / weights.groupby(rows[name]).sum()
            weights *= rows[name].map(times).fillna(0.0)
    drawn = rows.sample(len(goal), replace=True, weights=weights, random_state=0)
    drawn.to_csv(path := folder / "raked.csv", index=False)
    return path


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
    known = folder / f"{cell['prior']}.csv"
    prior = ("--prior", known, *WHY) if known.exists() else ()
    made, said = {"": known}, {}
    if cell["epsilon"]:
        method = {"method": "independent"} if cell["prior"] == "independent" else {}
        said = ran(folder, cell | method | {"delta": 1e-9}, *prior, "--relation", "replace_one")
        if "failed" in said:
            return said
        made = {"": folder / "out" / "synthetic.csv"}
        made |= {"raked public rows": raked(folder, known, made[""])} if prior and cell["table"] in FEW else {}
    found = {n: loads(call(sys.executable, TRIPLES, "score", folder, m)) for n, m in made.items()}
    return {"seconds": said.get("seconds_total")} | {n or L1: result[L1] for n, result in found.items()}


def cases(given) -> list[Row]:
    """With each prior, and each prior alone (epsilon 0)."""
    results = []
    for table in given.tables:
        if table == "waves":
            results += grid(table=[table], prior=("none", "series"), epsilon=[0.5], seed=range(given.seeds))
            continue
        few = table in FEW
        priors = [p for p in ADULT if p != "biased 075" or not few] + ["independent"] * (table in SMALL)
        epsilons = [0.1, 0.3, 1.0, 3.0] if few else given.epsilons
        results += grid(table=[table], prior=priors, epsilon=epsilons, seed=range(given.seeds))
        results += grid(table=[table], prior=[p for p in priors if p in FILES], epsilon=[0], seed=[0])
    return results


def markdown(rows: list[Row]) -> str:
    """A line for each table, prior and epsilon."""
    return means(rows, ["table", "epsilon", "prior"], OFF)


def main(given) -> None:
    print(markdown(measured(given, cases(given), one, prepare=place)))


if __name__ == "__main__":
    start(main, public=True, json="priors", tables="adult,few,waves", epsilons=[0.1, 1.0], seeds=3)
