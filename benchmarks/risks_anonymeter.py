"""The package `anonymeter` on CSV files; runs where it is installed (benchmarks/risks.py makes the place).

    python risks_anonymeter.py FOLDER ATTACKS NAME [NAME ...]

FOLDER holds real.csv, held.csv and NAME.csv. Prints a JSON list: for each table and attack the rates of both kinds of
rows, that of guessing, and the risk with its 95 % interval, as the package says them.
"""

import json
import sys
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.stats.confidence import EvaluationResults

NUMBERS = ["age", "income", "bmi", "visits"]


def read(path: Path) -> pd.DataFrame:
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return rows.astype(dict.fromkeys(NUMBERS, float))


def told(attack: str, results: EvaluationResults) -> dict:
    risk = results.risk()
    return {
        "attack": attack,
        "attacks": results.n_attacks_ori,
        "real": results.attack_rate.value,
        "control": results.control_rate.value,
        "baseline": results.baseline_rate.value,
        "risk": risk.value,
        "low": risk.ci[0],
        "high": risk.ci[1],
    }


def attacked(real: pd.DataFrame, held: pd.DataFrame, made: pd.DataFrame, attacks: int) -> list[dict]:
    names = list(real.columns)
    out = []
    for attack, mode, width in (("one", "univariate", 1), ("several", "multivariate", 4)):
        evaluator = SinglingOutEvaluator(
            ori=real, syn=made, control=held, n_attacks=attacks, n_cols=width, max_attempts=50_000, seed=0
        )
        out.append(told(attack, evaluator.evaluate(mode=mode).results()))
    halves = (names[::2], names[1::2])
    link = LinkabilityEvaluator(ori=real, syn=made, control=held, n_attacks=attacks, aux_cols=halves, n_neighbors=1)
    out.append(told("link", link.evaluate(n_jobs=1).results()))
    parts = []
    for secret in names:
        known = [n for n in names if n != secret]
        evaluator = InferenceEvaluator(
            ori=real,
            syn=made,
            control=held,
            n_attacks=attacks,
            secret=secret,
            aux_cols=known,
            regression=secret in NUMBERS,
        )
        parts.append(evaluator.evaluate(n_jobs=1).results())
    hits = [sum(getattr(p, n) for p in parts) for n in ("n_success", "n_baseline", "n_control")]
    whole = EvaluationResults(n_attacks=attacks * len(names), n_success=hits[0], n_baseline=hits[1], n_control=hits[2])
    return [*out, told("infer", whole)]


def main() -> None:
    """Attacks every table."""
    folder, attacks, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    warnings.simplefilter("ignore")
    real, held = read(folder / "real.csv"), read(folder / "held.csv")
    rows = [{"made": n, **r} for n in names for r in attacked(real, held, read(folder / f"{n}.csv"), attacks)]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
