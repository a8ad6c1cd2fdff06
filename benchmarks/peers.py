"""Every method and every rival on the same tables: one command, one process tree, the same split, schema and budget.

    python benchmarks/peers.py [--tables acs,adult,credit,acs5yr] [--epsilons 1] [--methods mixture,mst,aim] [--seeds 1]
                               [--options aim:rounds=30,mst:bins=128] [--most-seconds 1200]

Needs the public tables and score.py in ../shared; says so and stops without them. Every cell (table, epsilon, method,
options, seed) is a run through the command line with a ledger of its own; cells that benchmarks/results/peers.json
already holds are passed over, so that a run that was stopped goes on. A cell that fails or takes too long is kept
with its reason. Prints Markdown.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
from flagship import ROOT, SHARED, TABLES, call

SYNTH = (sys.executable, "-m", "synth")
RESULTS = ROOT / "benchmarks" / "results" / "peers.json"
SCORES = ("contsim", "tv", "ks", "corrsim", "pair_tv_err", "max_pair_tv_err", "logreg_f1", "tstr_auc", "c2st_auc")
CELL = ("table", "epsilon", "method", "options", "seed")
ALL = "independent,mixture,slicing,dp_kernel,dp_merf,dp_ctgan,pate_gan,aim,mst"


def options_of(text: str) -> dict[str, list[str]]:
    """By method its options, as the command line takes them: ``aim:rounds=30`` gives {"aim": ["rounds=30"]}."""
    found: dict[str, list[str]] = {}
    for part in filter(None, text.split(",")):
        method, _, option = part.partition(":")
        found.setdefault(method, []).append(option)
    return found


def one(folder: Path, cell: dict, most: float) -> dict:
    """One run with fresh noise and its scores, or the reason why there are none."""
    out = folder / "out"
    command = [*SYNTH, "run", folder / "train.csv", "--schema", folder / "schema.json", "--epsilon", cell["epsilon"],
               "--delta", 1e-5, "--method", cell["method"], "--seed", cell["seed"], "--out", out, "--ledger",
               folder / f"{len(list(folder.iterdir()))}.sqlite", "--json"]  # fmt: skip
    for option in filter(None, cell["options"].split()):
        command += ["--option", option]
    try:
        done = subprocess.run([str(c) for c in command], capture_output=True, text=True, cwd=ROOT, timeout=most)
    except subprocess.TimeoutExpired:
        return {**cell, "failed": f"not done after {most:g} s"}
    if done.returncode:
        return {**cell, "failed": done.stderr.strip().splitlines()[-1]}
    run, scored = json.loads(done.stdout), folder / "scores.json"
    call(sys.executable, SHARED / "tools" / "score.py", "--real", folder / "train.csv", "--synthetic",
         out / "synthetic.csv", "--schema", out / "schema.json", "--test", folder / "test.csv", "--no-reference",
         "--json", scored)  # fmt: skip
    scores = json.loads(scored.read_text())
    told = {k: run[k] for k in ("seconds", "seconds_total", "peak_mib", "epsilon_derived", "num_rows")}
    return {**cell, **told, **{k: scores.get(k) for k in SCORES}}


def floor(folder: Path, table: str) -> dict:
    """The real table's own noise: a bootstrap of the training rows, scored like a synthetic table."""
    rows = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False)
    rows.sample(len(rows), replace=True, random_state=0).to_csv(folder / "bootstrap.csv", index=False)
    call(sys.executable, SHARED / "tools" / "score.py", "--real", folder / "train.csv", "--synthetic",
         folder / "bootstrap.csv", "--schema", folder / "schema.json", "--test", folder / "test.csv", "--no-reference",
         "--json", folder / "scores.json")  # fmt: skip
    scores = json.loads((folder / "scores.json").read_text())
    cell = {"table": table, "epsilon": None, "method": "bootstrap of the real rows", "options": "", "seed": 0}
    return {**cell, **{k: scores.get(k) for k in SCORES}}


def markdown(rows: list[dict]) -> str:
    """Means over seeds, a line for each table, epsilon, method and options."""
    names = [*SCORES, "seconds"]
    lines = ["| table | epsilon | method | " + " | ".join(names) + " |", "|" + "---|" * (len(names) + 3)]
    frame = pd.DataFrame(rows).assign(epsilon=lambda f: f["epsilon"].map(lambda e: "-" if pd.isna(e) else f"{e:g}"))
    for (table, epsilon, method, options), group in frame.groupby(list(CELL[:4]), sort=False):
        means = [group[n].astype(float).mean() if n in group else float("nan") for n in names]
        cells = [
            "-" if pd.isna(m) else f"{m:.1f}" if n == "seconds" else f"{m:.4f}"
            for n, m in zip(names, means, strict=True)
        ]
        lines.append(f"| {table} | {epsilon} | {method} {options} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="acs,adult,credit,acs5yr")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--methods", default=ALL)
    parser.add_argument("--options", default="")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=1200)
    parser.add_argument("--json", default=str(RESULTS))
    given = parser.parse_args()
    if not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")
    path, options = Path(given.json), options_of(given.options)
    rows = json.loads(path.read_text()) if path.exists() else []
    known = {tuple(r.get(k) for k in CELL) for r in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    for table in given.tables.split(","):
        cells = [
            {"table": table, "epsilon": float(e), "method": m, "options": " ".join(options.get(m, [])), "seed": s}
            for e in given.epsilons.split(",") for m in given.methods.split(",") for s in range(given.seeds)
        ]  # fmt: skip
        cells = [c for c in cells if tuple(c[k] for k in CELL) not in known]
        if not cells:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            drafted = TABLES[table](folder)
            call(*SYNTH, "schema", "init", folder / "train.csv", "--out", folder / "schema.json", "--assume-public",
                 *drafted)  # fmt: skip
            if (table, None, "bootstrap of the real rows", "", 0) not in known:
                rows.append(floor(folder, table))
            for cell in cells:
                rows.append(one(folder, cell, given.most_seconds))
                path.write_text(json.dumps(rows, indent=1) + "\n")
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
    print(markdown(rows))


if __name__ == "__main__":
    main()
