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


def reported(attack: str, results: EvaluationResults) -> dict:
    risk, rates = results.risk(), ("attack_rate", "control_rate", "baseline_rate")
    result = {n: getattr(results, r).value for n, r in zip(("real", "control", "baseline"), rates, strict=True)}
    result |= {"risk": risk.value, "low": risk.ci[0], "high": risk.ci[1]}
    return {"attack": attack, "attacks": results.n_attacks_ori} | result


def attacked(real: pd.DataFrame, held: pd.DataFrame, made: pd.DataFrame, attacks: int) -> list[dict]:
    names, how, out = list(real), {"ori": real, "syn": made, "control": held, "n_attacks": attacks}, []
    for attack, mode, width in (("one", "univariate", 1), ("several", "multivariate", 4)):
        evaluator = SinglingOutEvaluator(n_cols=width, max_attempts=50_000, seed=0, **how)
        out.append(reported(attack, evaluator.evaluate(mode=mode).results()))
    link = LinkabilityEvaluator(aux_cols=(names[::2], names[1::2]), n_neighbors=1, **how)
    out.append(reported("link", link.evaluate(n_jobs=1).results()))
    parts = []
    for secret in names:
        known = [n for n in names if n != secret]
        evaluator = InferenceEvaluator(secret=secret, aux_cols=known, regression=secret in NUMBERS, **how)
        parts.append(evaluator.evaluate(n_jobs=1).results())
    counts = {n: sum(getattr(p, n) for p in parts) for n in ("n_success", "n_baseline", "n_control")}
    return [*out, reported("infer", EvaluationResults(n_attacks=attacks * len(names), **counts))]


def main() -> None:
    """Attacks every table."""
    folder, attacks, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    warnings.simplefilter("ignore")
    real, held = read(folder / "real.csv"), read(folder / "held.csv")
    rows = [{"made": n, **r} for n in names for r in attacked(real, held, read(folder / f"{n}.csv"), attacks)]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
