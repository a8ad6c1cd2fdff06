"""Singling out, linkability, inference: ours beside the package `anonymeter`, on releases and on tables that leak.

    python benchmarks/risks.py [--attacks 500] [--python ENV/bin/python]

The sample survey, halved: one half is the run's, the other held out. Attacked are releases of `mixture` and
`independent` at epsilon 1, and, for what a leak looks like, the run's rows copied and half copied. anonymeter pins an
older numpy, so it runs in an environment of its own, build/anonymeter, made by pip at the first run (``--python`` names
another). Prints Markdown; Every row here is simulated; of a real table such figures are for the steward alone.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from markdown_tables import filled
from public_tables import texts
from runner import ROOT, Row, answer_of, environment, start, sure, write

import synth
from synth.evaluate import risks as attacks_on
from synth.evaluate.read_sample import Sample, read
from synth.evaluate.risks import AttackRates, rate

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


def prepare(folder: Path) -> synth.Schema:
    """real.csv, held.csv and the tables that are attacked."""
    plain = json.loads((ROOT / "data" / "town_survey.schema.json").read_text())
    plain["columns"] = {n: c for n, c in plain["columns"].items() if n not in LEFT_OUT}
    rows = texts(ROOT / "data" / "town_survey.csv.gz")
    rows = rows[(rows[list(WHOLE)] != "").all(axis=1)][list(plain["columns"])].sample(frac=1, random_state=0)
    half = len(rows) // 2
    real, held = rows[:half], rows[half : 2 * half]
    real.to_csv(folder / "real.csv", index=False)
    held.to_csv(folder / "held.csv", index=False)
    for name in WHOLE:
        plain["columns"][name]["nullable"] = False
    schema = synth.Schema.parse(plain)
    for method in ("mixture", "independent"):
        retained = {"dataset": "town", "ledger": folder / f"{method}.sqlite", "out": folder / method}
        made = synth.run(real, schema=schema, epsilon=1.0, delta=1e-6, method=method, num_rows=half, **retained)
        pd.DataFrame({n: a.to_pandas() for n, a in made.texts.items()}).to_csv(folder / f"{method}.csv", index=False)
    parts = [real[: half // 2], texts(folder / "independent.csv")[: half // 2]]
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
        result = attacks_on.attack(real, one, test=held, name=name, known=KNOWN, attacks=attacks, rng=rng)
        one_column, several = attacks_on.SINGLING_OUT
        kinds = {"linkability": "link", "reconstruction from quasi-identifiers": "reconstruct"}
        kinds |= {one_column: "one", several: "several"}
        out += [_row(name, "ours", kinds[f.attack], f) for f in result if f.attack in kinds]
        out.append(_row(name, "ours", "infer", _inferred(real, held, one, attacks, rng)))
    return out


def _inferred(real: Sample, held: Sample, made: Sample, attacks: int, rng: np.random.Generator) -> AttackRates:
    """All columns in turn as the hidden one, hits of all together."""
    asked = [s.at_most(attacks, rng) for s in (real, held)]
    both = [rate(np.concatenate(list(attacks_on.inferred(a, made).values()))) for a in asked]
    guess = rng.integers(0, made.used, attacks)
    naive = [
        attacks_on.same(asked[0], n, np.asarray(made.positions[n])[guess[: asked[0].used]]).mean() for n in made.columns
    ]
    return AttackRates(attack="inference", table="", real=both[0], control=both[1], baseline=float(np.mean(naive)))


def _row(made: str, by: str, attack: str, finding: AttackRates) -> Row:
    assert finding.control is not None
    assert finding.risk is not None
    rates = {"real": finding.real.value, "control": finding.control.value, "baseline": finding.baseline}
    risk = dict(zip(("risk", "low", "high"), finding.risk, strict=True)) | {"detail": finding.detail}
    return {"made": made, "by": by, "attack": attack, "attacks": finding.real.attacks, **rates, **risk}


HEADS = "attack|table|attacks|rows of the run|held-out rows|guessing|risk, ours|risk, anonymeter"


def markdown(rows: list[Row]) -> str:
    """By attack and table: the risk with its interval by both, and our rates."""
    reported = {(r["attack"], r["made"], r["by"]): r for r in rows}
    pairs = [(a, m) for a in ATTACKS for m in MADE if (a, m, "ours") in reported]
    lines = []
    for attack, made in pairs:
        both = {"ours": reported[attack, made, "ours"], "theirs": reported.get((attack, made, PACKAGE))}
        lines.append(
            both["ours"] | {"title": ATTACKS[attack], "name": MADE[made]} | {k: _risk(r) for k, r in both.items()}
        )
    cells = "{title}|{name}|{attacks:,}|{real:.3f}|{control:.3f}|{baseline:.3f}|{ours}|{theirs}"
    return filled(lines, HEADS, cells)


def _risk(row: Mapping[str, Any] | None) -> str:
    return "-" if row is None else f"{row['risk']:.3f} ({row['low']:.3f} to {row['high']:.3f})"


def main(given) -> None:
    python = given.python or environment("anonymeter", PACKAGE)
    with TemporaryDirectory() as place:
        folder = Path(place)
        rows = ours(folder, prepare(folder), given.attacks)
        script = ROOT / "benchmarks" / "risks_anonymeter.py"
        rows += [{**r, "by": PACKAGE} for r in sure(answer_of([python, script, folder, given.attacks, *MADE]))]
    print(markdown(write(given.json, rows)))


if __name__ == "__main__":
    start(main, json="risks", attacks=500, python="")
