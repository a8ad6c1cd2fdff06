"""The survey's families on a public table, with and without paid one-way counts, scored by the yardstick beside it.

python benchmarks/families.py [--methods private_evolution] [--table acs] [--epsilons 1] [--seeds 1]
"""

from pathlib import Path

from flagship import SCORES
from markdown_tables import means
from public_tables import prepared, ran_and_scored
from runner import Row, grid, measured, start

from synth.generators import GENERATORS
from synth.generators.method import options_of
from synth.questions import CountsRelease

METHODS = [
    *("private_evolution", "dp_flow", "dp_diffusion", "dp_sinkhorn"),
    *("private_set", "gs_wgan", "datalens", "g_pate"),
]
OTHERS = ("slice_wasserstein", "mwem", "small_db", "online_weights", "dp_autogan", "independent", "mixture")
ORDER = (*METHODS, *OTHERS)
PAID = 0.3  # the share of methods that ask for no one-way counts of themselves
NAMES = {"acs": "ACSIncome", "adult": "Adult", "few": "7 columns", "four": "4 columns"}


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


def markdown(rows: list[Row]) -> str:
    """Means over runs, with and without one-ways; the method is named where there are several."""
    columns = {n: 3 for n in SCORES if n != "max_pair_tv_err"} | {"seconds": 0}
    alone = len({r["method"] for r in rows}) == 1
    tables = ("table",) if len({r["table"] for r in rows}) > 1 else ()
    by = (*tables, "epsilon", "oneways") if alone else (*tables, "method", "epsilon", "oneways")
    rows = [{**r, "table": NAMES.get(r["table"], r["table"])} for r in rows]
    order = {"table": None, "method": ORDER, "epsilon": None, "oneways": ("paid", "none")}
    return means(rows, by, columns, order={n: order[n] for n in by})


def main(given) -> None:
    ways = {"method": given.methods, "epsilon": given.epsilons, "oneways": given.oneways, "seed": range(given.seeds)}
    cells = grid(table=[given.table], **ways)

    def one(folder: Path, cell: Row) -> Row:
        return ran_and_scored(folder, cell | {"options": [*given.option, *chosen(cell["method"], cell["oneways"])]})

    print(markdown(measured(given, cells, one, prepare=prepared)))


if __name__ == "__main__":
    usual = {"table": "acs", "epsilons": [1.0], "methods": METHODS, "oneways": "paid,none", "option": [], "seeds": 1}
    start(main, public=True, json="families", **usual)
