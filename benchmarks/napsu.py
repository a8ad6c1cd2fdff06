"""Intervals of NAPSU-MQ (arXiv 2205.14485, its authors' package) beside ours, on few columns of Adult in bins.

    python benchmarks/napsu.py [--epsilon 1] [--runs 10] [--rows 6000] [--tables 100] [--python ENV/bin/python]

NAPSU-MQ is told which pairs to count, all of them, and spends all its budget there. Its unit is the replacement of a
row, so ours is too. Its tables are combined by its own rule, ours (20) by ``synth.combine``; ``synth.estimates`` needs
none. The rows of Adult are the population, and a run draws ``--rows`` of them with replacement. The package needs old
versions of JAX, so it runs in an environment of its own, build/twinify, made by pip at the first run (Python 3.11)
unless ``--python`` names another.
"""

import json
import os
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import inference_estimands as estimands
import numpy as np
import pandas as pd
from inference import DELTA, families, naive, of_release, population
from markdown_tables import filled
from runner import ROOT, Row, environment, start, write
from scipy.stats import t

import synth

PACKAGES = (
    *("twinify==2.0.0", "jax==0.4.13", "jaxlib==0.4.13", "numpyro==0.11.0"),
    *("scipy<1.12", "arviz<0.18", "matplotlib<3.9", "python-dateutil<3"),
)
EDGES = {"age": (30, 40, 50), "school": (10, 13), "hours": (39, 41)}  # bins begin there
CODES = {"age": 4, "school": 3, "hours": 3, "sex": 2, "high": 2}
FEW = estimands.Table(
    numbers={},
    yes="1",
    categories={n: tuple(str(i) for i in range(k)) for n, k in CODES.items()},
    fits=(("logistic", "high", ("age", "sex", "school", "hours")),),
)
WAYS = {"estimates": "`synth.estimates`", "combined": "`synth.combine`", "napsu": "NAPSU-MQ"}
Estimated = Mapping[str, Sequence[float]]


def coded() -> pd.DataFrame:
    """The population in bins, as codes from 0."""
    rows = population("adult")
    if rows is None:
        sys.exit("Adult's files are not in ../shared/data")
    out = {n: np.searchsorted(edges, rows[n], side="right") for n, edges in EDGES.items()}
    out |= {"sex": (rows["sex"] == "Male").astype(int), "high": (rows["high"] == "yes").astype(int)}
    return pd.DataFrame(out)[list(CODES)]


def rivals(python: str, place: Path, files: Sequence[tuple[int, str]], epsilon: float, tables: int) -> None:
    """Tables of NAPSU-MQ for every file of rows, beside the file."""
    reported = {"files": files, "columns": CODES, "epsilon": epsilon, "delta": DELTA, "tables": tables}
    reported["pairs"] = list(combinations(CODES, 2))
    (place / "place.json").write_text(json.dumps(reported))
    alone = os.environ | {"OMP_NUM_THREADS": "1", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    script = str(ROOT / "benchmarks" / "napsu_draws.py")
    done = subprocess.run([python, script, str(place / "place.json")], stderr=subprocess.PIPE, text=True, env=alone)
    if done.returncode:
        sys.exit(f"twinify: {done.stderr.strip().splitlines()[-1]}")


def of_rival(counts: np.ndarray) -> dict[str, list[float]]:
    """Estimates and intervals by NAPSU-MQ's rule: the variance between tables, less that within one."""
    grid = np.indices(tuple(CODES.values())).reshape(len(CODES), -1).T.astype(str)
    reported = [FEW.analysed(pd.DataFrame(np.repeat(grid, c, axis=0), columns=list(CODES))) for c in counts]
    out, m = {}, len(counts)
    for name in reported[0]:
        values, within = np.array([x[name] for x in reported]).T
        between, u = (1 + 1 / m) * values.var(ddof=1), within.mean()
        total = between - u if between > u else u
        half = t.ppf(0.975, (m - 1) * (1 - u / between) ** 2) * total**0.5
        out[name] = [values.mean(), values.mean() - half, values.mean() + half]
    return out


def of_ours(rows: pd.DataFrame, epsilon: float, place: Path) -> dict[str, Estimated]:
    """Estimates and intervals of one release."""
    release = place / "release"
    how = {"epsilon": epsilon, "delta": DELTA, "relation": "replace_one", "dataset": "few", "out": release}
    synth.run(rows, schema=synth.Schema.parse(FEW.schema), ledger=place / "ledger.sqlite", **how)
    return of_release(FEW, release, list(FEW.analysed(rows)), 20)


def summary(runs: Sequence[Mapping[str, Estimated]], truth: Mapping[str, float]) -> list[Row]:
    """By family: how often intervals cover, and their width over that of the real rows, in the middle."""
    rows = []
    for family, names in families(truth).items():
        row: Row = {"family": family, "estimands": len(names), "releases": len(runs)}
        for way in WAYS:
            hit = [r[way][n][1] <= truth[n] <= r[way][n][2] for r in runs for n in names]
            wide = [(r[way][n][2] - r[way][n][1]) / (r["real"][n][2] - r["real"][n][1]) for r in runs for n in names]
            row |= {f"{way}_covered": round(float(np.mean(hit)), 4), f"{way}_width": round(float(np.median(wide)), 3)}
        rows.append(row)
    return rows


def markdown(rows: Sequence[Row]) -> str:
    """A line a family."""
    heads = [*(f"{w} covers" for w in WAYS.values()), *(f"{w}, width" for w in WAYS.values())]
    cells = [*(f"{{{w}_covered:.1%}}" for w in WAYS), *(f"{{{w}_width:.2f}}" for w in WAYS)]
    line = "|".join(["{family}", *cells, "{estimands}, {releases}"])
    return filled(rows, "|".join(["family", *heads, "estimands, releases"]), line)


def main(given) -> None:
    everyone, files = coded(), []
    for seed in range(given.runs):
        place = given.retained / str(seed)
        if given.fresh:
            shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        drawn = np.random.default_rng([seed, 7]).integers(0, len(everyone), given.rows)
        everyone.iloc[drawn].to_csv(place / "rows.csv", index=False)
        files.append((seed, str(place / "rows.csv")))
    python = given.python or environment("twinify", *PACKAGES)
    rivals(python, given.retained, files, given.epsilon, given.tables)
    runs = []
    for path in (p for _, p in files if Path(p).with_suffix(".npy").exists()):  # without those that did not converge
        rows, place = pd.read_csv(path, dtype=str), Path(path).parent
        if not (place / "ours.json").exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (place / "ours.json").write_text(json.dumps(of_ours(rows, given.epsilon, place)))
        napsu = of_rival(np.load(Path(path).with_suffix(".npy")))
        runs.append(
            {**json.loads((place / "ours.json").read_text()), "real": naive(FEW.analysed(rows)), "napsu": napsu}
        )
    print(markdown(write(given.json, summary(runs, FEW.truth(everyone.astype(str))))))


if __name__ == "__main__":
    usual = {"epsilon": 1.0, "runs": 10, "rows": 6000, "tables": 100, "python": ""}
    start(main, json="napsu", retained=ROOT / "build" / "napsu", **usual)
