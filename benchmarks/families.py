"""The survey's families on a public table, with and without paid one-way counts, scored by the yardstick beside it.

    python benchmarks/families.py [--methods private_evolution] [--table acs] [--epsilons 1] [--seeds 1] \
        [--oneways paid,none] [--option NAME=VALUE ...] [--json FILE]

Needs the public tables and score.py in ../shared; says so and stops where they are absent. Each run spends in a ledger
of its own. Prints a line a run; the JSON, benchmarks/results/families.json by default, keeps the lines of other methods
and replaces those measured again.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

from flagship import ROOT, SCORES, SHARED, TABLES, call, one
from markdown_tables import means

METHODS = (
    "private_evolution", "dp_flow", "dp_diffusion", "dp_sinkhorn", "private_set", "gs_wgan", "datalens", "g_pate",
)  # fmt: skip
RESULTS = ROOT / "benchmarks" / "results" / "families.json"
KEY = ("table", "epsilon", "method", "oneways", "seed")


def keep(path: Path, rows: list[dict]) -> list[dict]:
    """Writes these lines beside those of other runs."""
    held = json.loads(path.read_text()) if path.exists() else []
    done = {tuple(r[k] for k in KEY) for r in rows}
    rows = [r for r in held if tuple(r[k] for k in KEY) not in done] + rows
    path.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


def markdown(rows: list[dict]) -> str:
    """Means over runs, with and without one-ways; the method is named where there are several."""
    columns = {n: (n, 3) for n in SCORES if n != "max_pair_tv_err"} | {"seconds": ("seconds", 0)}
    alone = len({r["method"] for r in rows}) == 1
    by = ("epsilon", "oneways") if alone else ("method", "epsilon", "oneways")

    def order(key: tuple) -> tuple:
        return (0 if alone else METHODS.index(key[0]), key[-2], key[-1] != "paid")

    return means(rows, by, columns, order=order)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--table", default="acs")
    parser.add_argument("--epsilons", default="1")
    parser.add_argument("--oneways", default="paid,none")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--json", type=Path, default=RESULTS)
    given = parser.parse_args()
    if not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")
    rows: list[dict] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = TABLES[given.table](folder)
        call(sys.executable, "-m", "synth", "schema", "init", folder / "train.csv", "--out", folder / "schema.json",
             "--assume-public", *options)  # fmt: skip
        for method in given.methods.split(","):
            for epsilon in map(float, given.epsilons.split(",")):
                for oneways in given.oneways.split(","):
                    for seed in range(given.seeds):
                        chosen = [*given.option, *(["oneway_share=0"] if oneways == "none" else [])]
                        found = one(folder, epsilon, method, seed, options=chosen, mark=oneways)
                        row = {"table": given.table, "epsilon": epsilon, "method": method, "oneways": oneways,
                               "seed": seed, **found}  # fmt: skip
                        rows.append(row)
                        print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
                        kept = keep(given.json, rows)
    print(markdown(kept))


if __name__ == "__main__":
    main()
