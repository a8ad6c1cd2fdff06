"""The survey's families on a public table, with and without paid one-way counts, scored by the yardstick beside it.

    python benchmarks/families.py [--methods private_evolution] [--table acs] [--epsilons 1] [--seeds 1] \
        [--oneways paid,none] [--option NAME=VALUE ...] [--json FILE]

Needs the public tables and score.py in ../shared; says so and stops where they are absent. Each run spends in a ledger
of its own. Prints a line a run; the JSON, benchmarks/results/families.json by default, keeps the lines of other methods
and replaces those measured again.
"""

import argparse
import json
from pathlib import Path

from flagship import ROOT, SCORES, need_tables, one, prepared, show
from markdown_tables import means, store

from synth.generators import GENERATORS
from synth.generators.options import options_of
from synth.questions import CountsRelease

METHODS = (
    "private_evolution",
    "dp_flow",
    "dp_diffusion",
    "dp_sinkhorn",
    "private_set",
    "gs_wgan",
    "datalens",
    "g_pate",
)
OTHERS = ("slice_wasserstein", "mwem", "small_db", "independent", "mixture")  # measured beside them by --methods
ORDER = (*METHODS, *OTHERS)
PAID = 0.3  # the share of methods that ask for no one-way counts of themselves
RESULTS = ROOT / "benchmarks" / "results" / "families.json"
NAMES = {"acs": "ACSIncome", "adult": "Adult", "few": "7 columns", "four": "4 columns"}
KEY = ("table", "epsilon", "method", "oneways", "seed")


def keep(path: Path, rows: list[dict], key: tuple[str, ...] = KEY) -> list[dict]:
    """Writes these lines beside those of other runs, in place of those with the same ``key``."""
    held = json.loads(path.read_text()) if path.exists() else []
    done = {tuple(r[k] for k in key) for r in rows}
    rows = [r for r in held if tuple(r[k] for k in key) not in done] + rows
    store(path, rows)
    return rows


def share(method: str) -> str:
    """The option by which a method pays for one-way counts; empty where it has none."""
    options = options_of(GENERATORS[method])
    return next((n for n in ("oneway_share", "ones") if n in options), "")


def by_default(method: str) -> str:
    """Whether a method's own options pay for one-way counts: the mark of its runs with these."""
    name = share(method)
    pays = options_of(GENERATORS[method])[name] if name else CountsRelease in GENERATORS[method].reads
    return "paid" if pays else "none"


def chosen(method: str, oneways: str) -> list[str]:
    """The option that makes a run pay for one-way counts, or not; none where that is the default."""
    if oneways == by_default(method) or not share(method):
        return []
    return [f"{share(method)}={PAID if oneways == 'paid' else 0}"]


def markdown(rows: list[dict]) -> str:
    """Means over runs, with and without one-ways; the method is named where there are several."""
    columns = {n: (n, 3) for n in SCORES if n != "max_pair_tv_err"} | {"seconds": ("seconds", 0)}
    alone = len({r["method"] for r in rows}) == 1
    tables = ("table",) if len({r["table"] for r in rows}) > 1 else ()
    by = (*tables, "epsilon", "oneways") if alone else (*tables, "method", "epsilon", "oneways")
    rows = [{**r, "table": NAMES.get(r["table"], r["table"])} for r in rows]

    def order(key: tuple) -> tuple:
        first = key[: len(tables)]
        return (first, 0 if alone else ORDER.index(key[len(tables)]), key[-2], key[-1] != "paid")

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
    need_tables()
    rows: list[dict] = []
    with prepared(given.table) as folder:
        for method in given.methods.split(","):
            for epsilon in map(float, given.epsilons.split(",")):
                for oneways in given.oneways.split(","):
                    for seed in range(given.seeds):
                        asked = [*given.option, *chosen(method, oneways)]
                        found = one(folder, epsilon, method, seed, options=asked, mark=oneways)
                        row = {
                            "table": given.table,
                            "epsilon": epsilon,
                            "method": method,
                            "oneways": oneways,
                            "seed": seed,
                            **found,
                        }
                        rows.append(row)
                        show(row)
                        kept = keep(given.json, rows)
    print(markdown(kept))


if __name__ == "__main__":
    main()
