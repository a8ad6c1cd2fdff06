"""The public tables beside the checkout, runs of the command line on them, and their scores by the yardstick there."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from runner import ROOT, SHARED, Row, answer_of

from synth.evaluate.examination import OF_NUMBERS
from synth.evaluate.fidelity import compare_samples
from synth.evaluate.read_sample import read
from synth.schema.table import Schema

SYNTH = (sys.executable, "-m", "synth")
ACS_CODES = "COW,SCHL,MAR,OCCP,POBP,RELP,SEX,RAC1P,PINCP"
NIST_CODES = "SEX,MSP,HISP,RAC1P,HOUSING_TYPE,OWN_RENT,INDP,INDP_CAT,EDU,PINCP_DECILE,DVET,DREM,DPHY,DEYE,DEAR"
FEW, FOUR = "AGEP,COW,SCHL,MAR,SEX,WKHP,PINCP", "AGEP,MAR,SEX,PINCP"
TEN = "AGEP,SEX,MSP,RAC1P,HOUSING_TYPE,OWN_RENT,EDU,PINCP_DECILE,DVET,DEYE"
CREDIT_CODES = "SEX,EDUCATION,MARRIAGE,PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,class"
DIABETES_CODES = "admission_type_id,discharge_disposition_id,admission_source_id,diag_1,diag_2,diag_3"
DELTA = {"nist24": 3.6e-6, "nist10": 1e-9}  # of all others 1e-5
BOOTSTRAP = "bootstrap of the real rows"
RUN = ("seconds", "seconds_total", "peak_mib", "epsilon_spent", "epsilon_derived", "num_rows")


def texts(path: Path | str) -> pd.DataFrame:
    """A table's cells as text."""
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def public(name: str) -> pd.DataFrame:
    return texts(SHARED / "data" / name)


def halves(rows: pd.DataFrame, folder: Path) -> None:
    """80 % of the rows to train on, the rest held out."""
    order, cut = np.random.default_rng(0).permutation(len(rows)), int(0.8 * len(rows))
    rows.iloc[order[:cut]].to_csv(folder / "train.csv", index=False)
    rows.iloc[order[cut:]].to_csv(folder / "test.csv", index=False)


def coded(names: Sequence[str], codes: str) -> list[str]:
    """The option that declares those of the codes that a table has as categories."""
    return ["--categorical", ",".join(c for c in codes.split(",") if c in names)]


def acs(folder: Path, names: str = "") -> list[str]:
    """ACSIncome of Colorado; of some columns for methods that keep a weight for each combination of values."""
    rows = public("acs_income_co_2018.csv.gz")
    rows = rows[names.split(",")] if names else rows
    halves(rows, folder)
    return [*coded(list(rows), ACS_CODES), "--target", "PINCP"]


def adult(folder: Path) -> list[str]:
    """The published split; the test file's labels lose their dot."""
    public("adult_train.csv.gz").to_csv(folder / "train.csv", index=False)
    test = public("adult_test.csv.gz")
    test.assign(income=test["income"].str.rstrip(".")).to_csv(folder / "test.csv", index=False)
    return ["--missing", "?", "--target", "income"]


def credit(folder: Path) -> list[str]:
    halves(public("credit_default_taiwan.csv.gz"), folder)
    return ["--categorical", CREDIT_CODES, "--target", "class"]


def nist(folder: Path) -> list[str]:
    halves(public("acs_nist_national_2019.csv.gz"), folder)
    return ["--missing", "N", "--categorical", NIST_CODES]


def excerpt(folder: Path, names: str = "") -> list[str]:
    """All rows of NIST's national excerpt of 2019, on these columns."""
    rows = public("acs_nist_national_2019.csv.gz")
    rows = rows[names.split(",")] if names else rows
    rows.to_csv(folder / "train.csv", index=False)
    return ["--missing", "N", *coded(list(rows), NIST_CODES)]


def diabetes(folder: Path) -> list[str]:
    halves(public("diabetes_130_hospitals.csv.gz").drop(columns=["encounter_id", "patient_nbr"]), folder)
    return ["--missing", "?", "--categorical", DIABETES_CODES, "--target", "readmitted"]


def acs5yr(folder: Path) -> list[str]:
    rows = public("acs_5yr_2013_2017_sample100k.csv.gz").drop(columns=["serialno"])
    rows["high"] = (rows["wagp"].astype(float) > 50_000).map({True: "yes", False: "no"})
    halves(rows, folder)
    return ["--categorical", "sporder,adjinc,mar,sex,incgroup", "--target", "high"]


def town(folder: Path) -> list[str]:
    """The sample that comes with the application."""
    halves(texts(ROOT / "data" / "town_survey.csv.gz").drop(columns=["person_id"]), folder)
    return ["--target", "chronic_condition"]


def characters(folder: Path) -> list[str]:
    """Artificial characters: seven numbers, whose joint shape tells ten letters; the published split."""
    for p in ("train", "test"):
        public(f"artificial_characters/artificial-characters_{p}.csv.gz").to_csv(folder / f"{p}.csv", index=False)
    return ["--categorical", "Class", "--target", "Class"]


TABLES: dict[str, Callable[[Path], list[str]]] = {
    "acs": acs,
    "few": lambda folder: acs(folder, FEW),
    "four": lambda folder: acs(folder, FOUR),
    "adult": adult,
    "credit": credit,
    "nist": nist,
    "nist24": excerpt,
    "nist10": lambda folder: excerpt(folder, TEN),
    "diabetes": diabetes,
    "acs5yr": acs5yr,
    "town": town,
    "characters": characters,
}
PLAIN = [name for name in TABLES if name not in DELTA]


def of_file(name: str) -> Callable[[Path], list[str]]:
    """A known table, or a file's halves with the target named after a colon: FILE.csv:TARGET."""
    path, _, target = name.partition(":")
    if name not in TABLES and not Path(path).is_file():
        sys.exit(f"--tables {name}: choose one of {', '.join(TABLES)}, or name a CSV file, FILE.csv:TARGET")

    def split(folder: Path) -> list[str]:
        halves(texts(path), folder)
        return ["--target", target] if target else []

    return TABLES.get(name, split)


def call(*command: object, **how: Any) -> str:
    """What a program prints; ends this one where it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **({"cwd": ROOT} | how))
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")
    return done.stdout


def drafted(folder: Path, options: Sequence[str]) -> dict:
    """The schema of a folder's train.csv, drafted and confirmed: these tables and their code books are published."""
    path = folder / "schema.json"
    call(*SYNTH, "schema", "init", folder / "train.csv", "--out", path, "--assume-public", *options)
    facts = json.loads(path.read_text())
    facts |= {"unit_source": "declared"} if "unit_source" in facts else {}
    for column in facts["columns"].values():
        column |= {"source": "public", "reason": "a published table"} if "risk" in column else {"source": "public"}
    path.write_text(json.dumps(facts, indent=2))
    return facts


def fire(folder: Path) -> None:
    """304,249 incidents of a fire department, 15 columns of codes, with their own schema."""
    data, tool = SHARED / "data" / "fire_incidents", SHARED / "tools" / "triples.py"
    call(sys.executable, tool, "schema", data, "--out", folder / "schema.json")
    texts(data / "private.csv.gz").to_csv(folder / "train.csv", index=False)


@contextmanager
def prepared(table: str, make: Callable[[Path], list[str]] | None = None) -> Iterator[Path]:
    """A folder with a table's train.csv, test.csv and schema.json; gone afterwards."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        if table == "fire":
            fire(folder)
        else:
            drafted(folder, (make or of_file(table))(folder))
        yield folder


@contextmanager
def laid(rows: pd.DataFrame, schema: dict) -> Iterator[Path]:
    """The same of simulated rows."""
    with TemporaryDirectory() as name:
        rows.to_csv(Path(name) / "train.csv", index=False)
        (Path(name) / "schema.json").write_text(json.dumps(schema))
        yield Path(name)


def facts(folder: Path) -> dict[str, dict]:
    """What the schema says of each column."""
    return dict(json.loads((folder / "schema.json").read_text())["columns"])


def numeric(folder: Path) -> set[str]:
    """Columns that the schema calls numbers."""
    return {n for n, c in facts(folder).items() if c["type"] in ("integer", "float", "numeric")}


def command(folder: Path, cell: Row, *more: object, schema: str = "schema.json") -> list[str]:
    """A case's `synth run` on the folder's train.csv, with a new ledger: fresh noise, nothing spent before."""
    delta = cell.get("delta", DELTA.get(cell.get("table", ""), 1e-5))
    ledger = folder / f"{len(list(folder.iterdir()))}.sqlite"
    words = [*SYNTH, "run", folder / "train.csv", "--schema", folder / schema, "--epsilon", cell["epsilon"]]
    words += ["--delta", delta, "--method", cell.get("method", "mixture"), "--seed", cell.get("seed", 0)]
    words += ["--out", folder / "out", "--replace", "--ledger", ledger, "--json", *more]
    options = cell.get("options") or ()
    for option in options.split() if isinstance(options, str) else options:
        words += ["--option", option]
    return [str(word) for word in words]


def ran(folder: Path, cell: Row, *more: object, most: float | None = None, schema: str = "schema.json") -> Row:
    """What a case's run says, or ``failed``, the reason why there is none; its rows lie in out/synthetic.csv.

    A case has an epsilon, and what it needs of table, method, options, seed and delta. ``more``: words of the command
    line. ``most``: seconds after which a run is given up.
    """
    began = time.perf_counter()
    said = answer_of(command(folder, cell, *more, schema=schema), most=most, whole=True, cwd=ROOT)
    if "failed" in said:
        return said
    return {k: said[k] for k in RUN} | {"seconds_command": time.perf_counter() - began}


def scored(folder: Path, made: Path | None = None, *, reference: bool = False) -> dict[str, Any]:
    """The yardstick's scores of the folder's run, or of another table; ``reference``: with those of the real rows."""
    path = folder / "scores.json"
    files = ["--real", folder / "train.csv", "--synthetic", made or folder / "out" / "synthetic.csv"]
    files += ["--schema", folder / "schema.json", "--test", folder / "test.csv", "--json", path]
    call(sys.executable, SHARED / "tools" / "score.py", *files, *([] if reference else ["--no-reference"]))
    return json.loads(path.read_text()) | amounts(folder, made)


def amounts(folder: Path, made: Path | None = None) -> Row:
    """What tables of counts do not show, of the folder's run or of another table: of the numbers' means, spreads and
    percentiles, in standard deviations, the middle and the worst; worst of groups' means and of correlations; rows that
    could not be, beside half of the real ones."""
    schema, rng = Schema.load(folder / "schema.json"), np.random.default_rng(0)
    files = folder / "train.csv", made or folder / "out" / "synthetic.csv"
    real, synthetic = (read(f, schema, limit=50_000, rng=rng, synthetic=f != files[0]) for f in files)
    seen = compare_samples(real, synthetic, quality_rows=None, rng=rng)
    known = [o.numbers for o in seen.one_way.values() if o.numbers is not None and o.numbers.spread_ratio is not None]
    out: Row = {}
    for name, of in {n: f for n, _, f in OF_NUMBERS}.items():
        values = [of(c) for c in known]
        out |= {name: float(np.median(values)), f"{name}_worst": max(values)} if values else {}
    out["group_mean"] = float(np.sqrt(np.mean([g.off**2 for g in seen.group_means]))) if seen.group_means else None
    out["correlation"] = None if seen.correlation is None else seen.correlation.off
    odd = seen.implausible
    return out | ({} if odd is None else {"implausible": odd.share, "implausible_real": odd.second})


def ran_and_scored(folder: Path, cell: Row, *more: object, most: float | None = None) -> Row:
    """A case's run and its scores, or the reason why there are none."""
    said = ran(folder, cell, *more, most=most)
    return said if "failed" in said else said | scored(folder)


def part_of_real(folder: Path, part: float = 1.0) -> tuple[str, Path]:
    """A part of the real rows, to be scored like a synthetic table, and its file. The whole is a bootstrap."""
    rows, path = texts(folder / "train.csv"), folder / "part.csv"
    rows.sample(frac=part, replace=part == 1, random_state=0).to_csv(path, index=False)
    return BOOTSTRAP if part == 1 else f"{part:.0%} of the real rows", path
