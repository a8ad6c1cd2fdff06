"""Singling out, linkability, inference: ours beside the package `anonymeter`, on releases and on tables that leak.

    python benchmarks/risks.py [--attacks 500] [--python ENV/bin/python] [--json FILE]

The sample survey, halved: one half is the run's, the other held out. Attacked are releases of `mixture` and
`independent` at epsilon 1, and, for what a leak looks like, the run's rows copied and half copied. anonymeter pins an
older numpy, so it runs in an environment of its own, build/anonymeter, made by pip at the first run (``--python`` names
another). Prints Markdown; JSON goes to benchmarks/results/risks.json. Every row here is simulated; of a real table such
figures are for the steward alone.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from flagship import ROOT, call
from markdown_tables import table

import synth
from synth.evaluate.read_sample import Sample, read
from synth.evaluate.risks import Finding, chapter, neighbours
from synth.evaluate.risks.rates import rate

RESULTS = ROOT / "benchmarks" / "results" / "risks.json"
PLACE = ROOT / "build" / "anonymeter"
PACKAGE = "anonymeter==1.1.0"
LEFT_OUT = ("person_id", "weekly_hours", "last_visit")  # a key; two that are mostly missing
WHOLE = ("income", "bmi")  # anonymeter's distance knows no missing number: rows without are left out
KNOWN = ["sex", "region", "education", "marital_status"]
MADE = {
    "mixture": "mixture, epsilon 1",
    "independent": "independent, epsilon 1",
    "half": "half copied, half independent",
    "copied": "rows copied",
}
ATTACKS = {
    "one": "singling out by one column",
    "several": "singling out by 4 columns",
    "link": "linkability",
    "infer": "inference, all columns",
    "reconstruct": "reconstruction, worst column",
}
Row = dict[str, Any]


def environment() -> str:
    """The Python that has anonymeter, made if it is not there."""
    if not (PLACE / "ready").exists():
        call(sys.executable, "-m", "venv", PLACE)
        call(PLACE / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", PACKAGE)
        (PLACE / "ready").touch()
    return str(PLACE / "bin" / "python")


def prepare(folder: Path) -> synth.Schema:
    """real.csv, held.csv and the tables that are attacked."""
    plain = json.loads((ROOT / "data" / "town_survey.schema.json").read_text())
    plain["columns"] = {n: c for n, c in plain["columns"].items() if n not in LEFT_OUT}
    rows = pd.read_csv(ROOT / "data" / "town_survey.csv.gz", dtype=str, keep_default_na=False)
    rows = rows[(rows[list(WHOLE)] != "").all(axis=1)][list(plain["columns"])].sample(frac=1, random_state=0)
    half = len(rows) // 2
    real, held = rows[:half], rows[half : 2 * half]
    real.to_csv(folder / "real.csv", index=False)
    held.to_csv(folder / "held.csv", index=False)
    for name in WHOLE:
        plain["columns"][name]["nullable"] = False
    schema = synth.Schema.parse(plain)
    for method in ("mixture", "independent"):
        made = synth.run(
            real,
            schema=schema,
            epsilon=1.0,
            delta=1e-6,
            method=method,
            num_rows=half,
            ledger=folder / f"{method}.sqlite",
            dataset="town",
            out=folder / method,
        )
        pd.DataFrame({n: a.to_pandas() for n, a in made.texts.items()}).to_csv(folder / f"{method}.csv", index=False)
    parts = [real[: half // 2], pd.read_csv(folder / "independent.csv", dtype=str, keep_default_na=False)[: half // 2]]
    pd.concat(parts).sample(frac=1, random_state=1).to_csv(folder / "half.csv", index=False)
    real.sample(frac=1, random_state=1).to_csv(folder / "copied.csv", index=False)
    return schema


def ours(folder: Path, schema: synth.Schema, attacks: int) -> list[Row]:
    """The attacks of the steward's report; of inference all columns, as the package's are."""
    rng = np.random.default_rng(0)
    real, held, *made = (
        read(folder / f"{n}.csv", schema, limit=10**6, rng=rng, synthetic=True) for n in ("real", "held", *MADE)
    )
    out: list[Row] = []
    for name, one in zip(MADE, made, strict=True):
        found = chapter.attack(real, one, test=held, name=name, known=KNOWN, attacks=attacks, rng=rng)
        kinds = {
            "linkability": "link",
            "reconstruction from quasi-identifiers": "reconstruct",
            chapter.singling_out.NAMES[0]: "one",
            chapter.singling_out.NAMES[1]: "several",
        }
        out += [_row(name, "ours", kinds[f.attack], f) for f in found if f.attack in kinds]
        out.append(_row(name, "ours", "infer", _inferred(real, held, one, attacks, rng)))
    return out


def _inferred(real: Sample, held: Sample, made: Sample, attacks: int, rng: np.random.Generator) -> Finding:
    """All columns in turn as the hidden one, hits of all together."""
    asked = [s.at_most(attacks, rng) for s in (real, held)]
    both = [rate(np.concatenate(list(neighbours.inferred(a, made).values()))) for a in asked]
    guess = rng.integers(0, made.used, attacks)
    naive = [
        neighbours.same(asked[0], n, np.asarray(made.positions[n])[guess[: asked[0].used]]).mean() for n in made.columns
    ]
    return Finding(attack="inference", table="", real=both[0], control=both[1], baseline=float(np.mean(naive)))


def _row(made: str, by: str, attack: str, found: Finding) -> Row:
    assert found.control is not None
    assert found.risk is not None
    return {
        "made": made,
        "by": by,
        "attack": attack,
        "attacks": found.real.attacks,
        "real": found.real.value,
        "control": found.control.value,
        "baseline": found.baseline,
        "risk": found.risk[0],
        "low": found.risk[1],
        "high": found.risk[2],
        "detail": found.detail,
    }


def markdown(rows: list[Row]) -> str:
    """By attack and table: the risk with its interval by both, and our rates."""
    told = {(r["attack"], r["made"], r["by"]): r for r in rows}
    lines = []
    for attack, title in ATTACKS.items():
        for made, name in MADE.items():
            mine, theirs = told.get((attack, made, "ours")), told.get((attack, made, PACKAGE))
            if mine is not None:
                rates = (f"{mine[n]:.3f}" for n in ("real", "control", "baseline"))
                lines.append([title, name, f"{mine['attacks']:,}", *rates, _risk(mine), _risk(theirs)])
    return table(
        (
            "attack",
            "table",
            "attacks",
            "rows of the run",
            "held-out rows",
            "guessing",
            "risk, ours",
            "risk, anonymeter",
        ),
        lines,
    )


def _risk(row: Mapping[str, Any] | None) -> str:
    return "-" if row is None else f"{row['risk']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def main() -> None:
    """Attacks, prints and keeps."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--attacks", type=int, default=500)
    parser.add_argument("--python")
    parser.add_argument("--json", type=Path, default=RESULTS)
    asked = parser.parse_args()
    python = asked.python or environment()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        schema = prepare(folder)
        rows = ours(folder, schema, asked.attacks)
        said = call(python, ROOT / "benchmarks" / "risks_anonymeter.py", folder, asked.attacks, *MADE)
        rows += [{**r, "by": PACKAGE} for r in json.loads(said.splitlines()[-1])]
    asked.json.write_text(json.dumps(rows, indent=1) + "\n")
    print(markdown(rows))


if __name__ == "__main__":
    main()
