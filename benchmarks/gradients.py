"""The trained baselines' figures on a public table: runs through the command line, scored by the yardstick beside it.

    python benchmarks/gradients.py [--tables acs] [--epsilons 0.2,1,5.1] [--seeds 1] [--methods dp_ctgan,dp_vae]

As flagship.py; prints how far the accountant's epsilon is from what was asked, too.
"""

from pathlib import Path

from flagship import markdown
from public_tables import prepared, ran_and_scored
from runner import Row, grid, measured, start


def one(folder: Path, cell: Row) -> Row:
    result = ran_and_scored(folder, cell)
    return result if "failed" in result else result | {"apart": abs(result["epsilon_derived"] - cell["epsilon"])}


def main(given) -> None:
    cells = grid(table=given.tables, epsilon=given.epsilons, method=given.methods, seed=range(given.seeds))
    rows = measured(given, cells, one, prepare=prepared)
    print(markdown(rows))
    far = max((r["apart"] for r in rows if "apart" in r), default=0.0)
    print(f"largest distance of the accountant from what was asked: {far:.1e}")


if __name__ == "__main__":
    usual = {"tables": ["acs"], "epsilons": [0.2, 1.0, 5.1], "methods": "dp_ctgan,pate_gan,dp_vae", "seeds": 1}
    start(main, public=True, json="gradients", **usual)
