"""The trained baselines' figures on a public table: runs through the command line, scored by the yardstick beside it.

    python benchmarks/gradients.py [--tables acs] [--epsilons 0.2,1,5.1] [--seeds 1] [--methods dp_ctgan,dp_vae]

Needs the public tables and score.py in ../shared; says so and stops where they are absent. Each run spends in a ledger
of its own. Prints a line a run, how far the accountant's epsilon is from what was asked, and a Markdown table; the JSON
goes to benchmarks/results/gradients.json, written after every run; lines of other methods, tables and epsilons stay.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from families import keep
from flagship import ROOT, SHARED, TABLES, call, markdown, one

METHODS = "dp_ctgan,pate_gan,dp_vae"
RESULTS = ROOT / "benchmarks" / "results" / "gradients.json"
KEY = ("table", "epsilon", "method", "seed")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default="acs")
    parser.add_argument("--epsilons", default="0.2,1,5.1")
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", default=str(RESULTS))
    given = parser.parse_args()
    if not SHARED.exists():
        sys.exit("the public tables and score.py are not beside this checkout; nothing was measured")
    rows: list[dict] = []
    for table in given.tables.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            options = TABLES[table](folder)
            call(sys.executable, "-m", "synth", "schema", "init", folder / "train.csv", "--out",
                 folder / "schema.json", "--assume-public", *options)  # fmt: skip
            for epsilon in map(float, given.epsilons.split(",")):
                for method in given.methods.split(","):
                    for seed in range(given.seeds):
                        row = {"table": table, "epsilon": epsilon, "method": method, "seed": seed}
                        row |= one(folder, epsilon, method, seed)
                        row["apart"] = abs(row["epsilon_derived"] - epsilon)
                        rows.append(row)
                        print({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
                        kept = keep(Path(given.json), rows, KEY)
    print(markdown(kept))
    print(f"largest distance of the accountant from what was asked: {max(r['apart'] for r in rows):.1e}")


if __name__ == "__main__":
    main()
