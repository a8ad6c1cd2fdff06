"""Other projects' synthesizers, each in an environment of its own, on ACSIncome Colorado beside ours.

    python benchmarks/outside.py [--packages smartnoise-synth,dpmm] [--epsilon 1] [--python ENV/bin/python]
                                 [--most-seconds 1200]

Makes an environment for each package (torch kept at this project's version), installs it, fits its MST and AIM to the
training rows, every column named as categorical with what occurs as its values, and scores the table with score.py.
A package that cannot be installed, or a fit that takes too long, is kept with its reason. ``--python``: an
environment that has the package already. Appends to benchmarks/results/outside.json and prints Markdown.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
from flagship import ROOT, call, need_tables, prepared
from markdown_tables import store, stored
from peers import SCORES, scored

RESULTS = ROOT / "benchmarks" / "results" / "outside.json"
KINDS = {"smartnoise-synth": ("mst", "aim"), "dpmm": ("mst", "aim")}
INSIDE = {
    "smartnoise-synth": """
import sys, pandas as pd
from snsynth import Synthesizer
kind, epsilon, source, out = sys.argv[1:]
rows = pd.read_csv(source, dtype=str, keep_default_na=False)
made = Synthesizer.create(kind, epsilon=float(epsilon), delta=1e-5)
made.fit_sample(rows, categorical_columns=list(rows.columns), preprocessor_eps=0.0).to_csv(out, index=False)
""",
    "dpmm": """
import sys, pandas as pd
from dpmm import pipelines
kind, epsilon, source, out = sys.argv[1:]
rows = pd.read_csv(source, dtype=str, keep_default_na=False).astype("category")
made = getattr(pipelines, kind.upper() + "Pipeline")(epsilon=float(epsilon), delta=1e-5)
made.fit(rows, {c: {"categories": sorted(rows[c].unique())} for c in rows})
made.generate(len(rows)).to_csv(out, index=False)
""",
}


def environment(folder: Path, package: str) -> tuple[str, str]:
    """(its Python, "") or ("", why there is none)."""
    torch = next(x for x in (ROOT / "requirements.txt").read_text().split() if x.startswith("torch=="))
    (folder / "constraints.txt").write_text(torch + "\n")
    call(sys.executable, "-m", "venv", folder / "env")
    command = [folder / "env" / "bin" / "pip", "install", "--quiet", "-c", folder / "constraints.txt", package]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    said = [x for x in done.stderr.splitlines() if x.startswith("ERROR")]
    return ("", said[0][:200]) if done.returncode else (str(folder / "env" / "bin" / "python"), "")


def one(folder: Path, python: str, package: str, kind: str, epsilon: float, most: float) -> dict:
    cell = {"table": "acs", "epsilon": epsilon, "method": f"{package} {kind}"}
    out, started = folder / "made.csv", time.perf_counter()
    command = [python, "-c", INSIDE[package], kind, str(epsilon), str(folder / "train.csv"), str(out)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=most)
    except subprocess.TimeoutExpired:
        return {**cell, "failed": f"not done after {most:g} s"}
    if done.returncode:
        return {**cell, "failed": done.stderr.strip().splitlines()[-1][:200]}
    seconds = time.perf_counter() - started
    scores = scored(folder, out, "--no-reference")
    return {**cell, "seconds": seconds, "num_rows": len(pd.read_csv(out)), **{k: scores.get(k) for k in SCORES}}


def markdown(rows: list[dict]) -> str:
    lines = ["| method | epsilon | " + " | ".join(SCORES) + " | seconds |", "|" + "---|" * (len(SCORES) + 3)]
    for r in rows:
        told = [r["failed"]] if "failed" in r else [*(f"{r[s]:.4f}" for s in SCORES), f"{r['seconds']:.0f}"]
        lines.append(f"| {r['method']} | {r['epsilon']:g} | " + " | ".join(told) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", default="smartnoise-synth,dpmm")
    parser.add_argument("--kinds", default="mst,aim")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--python", default="")
    parser.add_argument("--most-seconds", type=float, default=1200)
    given = parser.parse_args()
    need_tables()
    rows = stored(RESULTS)
    for package in given.packages.split(","):
        with prepared("acs") as folder:
            python, why = (given.python, "") if given.python else environment(folder, package)
            for kind in [k for k in given.kinds.split(",") if k in KINDS[package]]:
                lost = {"table": "acs", "epsilon": given.epsilon, "method": f"{package} {kind}", "failed": why}
                rows.append(one(folder, python, package, kind, given.epsilon, given.most_seconds) if python else lost)
                store(RESULTS, rows)
    print(markdown(rows))


if __name__ == "__main__":
    main()
