"""The trained baselines' figures on a public table: runs through the command line, scored by the yardstick beside it.

    python benchmarks/gradients.py [--tables acs] [--epsilons 0.2,1,5.1] [--seeds 1] [--methods dp_ctgan,dp_vae]

Needs the public tables and score.py in ../shared; says so and stops where they are absent. Each run spends in a ledger
of its own. Prints a line a run, how far the accountant's epsilon is from what was asked, and a Markdown table; the JSON
goes to benchmarks/results/gradients.json, written after every run; lines of other methods, tables and epsilons stay.
"""

import argparse
from pathlib import Path

from families import keep
from flagship import ROOT, markdown, need_tables, runs, show

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
    need_tables()
    rows: list[dict] = []
    for row in runs(given.tables, given.epsilons, given.methods, given.seeds):
        rows.append(row | {"apart": abs(row["epsilon_derived"] - row["epsilon"])})
        show(rows[-1])
        kept = keep(Path(given.json), rows, KEY)
    print(markdown(kept))
    print(f"largest distance of the accountant from what was asked: {max(r['apart'] for r in rows):.1e}")


if __name__ == "__main__":
    main()
