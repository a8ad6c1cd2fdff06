"""The published comparison of slicing (arXiv 2410.19941, Tables 1 and 3) on its tasks, at the same epsilon.

    python benchmarks/table1.py [--epsilons 5.1,8.1] [--seeds 1] [--methods ...] [--tasks ACSIncome,...] [--steps]

With `folktables` and a connection, or with the Census Bureau's files in --from FOLDER (docs/sources.md): the five ACS
2018 California tasks. Without: the Colorado extract of ACSIncome in ../shared/data; the first line says which. A method
that this build lacks is named and skipped. Runs that the JSON file (benchmarks/results/table1.json, steps.json with
--steps) holds already are passed over, so that a run that was stopped goes on; --fresh measures them again. Needs
score.py in ../shared/tools.

--rows: learns from the first N of the training rows, for what takes an hour on all of them; such lines name N.

--steps: what each step away from the published algorithm buys, epsilon and relation being the same. The first step is
the published bound's noise: a run at the smaller epsilon to which that noise really amounts.
"""

import contextlib
import sys
from functools import cache
from pathlib import Path

import pandas as pd
from markdown_tables import means
from public_tables import acs, halves, prepared, ran_and_scored, texts
from runner import RESULTS, ROOT, Row, grid, measured, same, start

from synth.generators import GENERATORS
from synth.privacy.accounting.slice_profile import slice_sigma, theorem_1

DOWNLOADS = ROOT / "build" / "folktables"
TASKS = "ACSIncome,ACSPublicCoverage,ACSMobility,ACSEmployment,ACSTravelTime"
NUMBERS = {"AGEP", "WKHP", "JWMNP", "PINCP", "POVPIP"}  # features on a scale; all others are codes
SCORES = ("tv", "ks", "contsim", "corrsim", "logreg_f1", "tstr_auc")
NUM_SLICES = 200
PAPER = ["loss=kl", "directions=gaussian", f"num_slices={NUM_SLICES}"]
SCHEDULE = ["epochs=200", "learning_rate=2e-5", "rate=0.25"]  # the published training; all others are quicker ones
SORTED = ["directions=gaussian", f"num_slices={NUM_SLICES}", "batch=512"]
# training and sample as the text has them: a quarter of the rows without replacement, rows from the network itself
LETTER = [*SCHEDULE, "sample=fixed", "form=published", "batch=128"]
PAID = ["oneway_share=0.3"]  # of the budget, for counts of single columns: what the rivals' defaults start from
BARE = ["oneway_share=0.01"]  # the least that their options allow: a row count, and hardly more
# the published table's five rows, then this library's own; each with and without one-way counts; slow ones last
METHODS = {
    "slicing (groups)": ("slicing", []),
    "mixture": ("mixture", []),
    "single records (best fit)": ("slicing", ["groups=records"]),
    "slicing (groups) alone": ("slicing", ["encoding=binned"]),
    "PATE + one-ways": ("pate_gan", []),
    "PATE": ("pate_gan", BARE),
    "MERF + one-ways": ("dp_merf", []),
    "MERF": ("dp_merf", BARE),
    "DP-SGD + one-ways": ("dp_ctgan", []),
    "DP-SGD": ("dp_ctgan", BARE),
    "SliceWass + one-ways": ("slice_wasserstein", [*SORTED, *PAID]),
    "SliceWass": ("slice_wasserstein", SORTED),
    "Algorithm 1 + one-ways": ("slicing", [*PAPER, *PAID]),
    "Algorithm 1": ("slicing", PAPER),
    "Algorithm 1, a fixed quarter": ("slicing", [*PAPER, "rate=0.25", "sample=fixed"]),
    "Algorithm 1, fixed directions": ("slicing", ["loss=kl", "directions=fixed"]),
    "Algorithm 1, published form": ("slicing", [*PAPER, "form=published"]),
    "Algorithm 1 by its schedule": ("slicing", [*PAPER, *SCHEDULE]),
    "Algorithm 1 as published": ("slicing", [*PAPER, *LETTER]),
    "SliceWass as published": ("slice_wasserstein", [*PAPER[1:], *LETTER]),
    "Algorithm 1 as published, the paper's own accounting": ("slicing", [*PAPER, *LETTER]),
}
PUBLISHED = "Algorithm 1, noise by the published bound"
# runs at the epsilon that the published noise really costs, listed under the one that the text states
OWN_ACCOUNTING = {PUBLISHED: {}, "Algorithm 1 as published, the paper's own accounting": {"rate": 0.25, "swap": 2**0.5}}
STEPS = {
    PUBLISHED: ("slicing", PAPER),
    "noise by the exact profile": ("slicing", PAPER),
    "a rotation for the directions": ("slicing", ["loss=kl"]),
    "moments instead of a network": ("slicing", ["groups=records"]),
    "sums of groups": ("slicing", ["encoding=binned"]),
    "two stages": ("slicing", []),
}


@cache
def californians() -> pd.DataFrame:
    """Persons of California 2018; downloaded once. The package's own prints go to stderr."""
    import folktables

    with contextlib.redirect_stdout(sys.stderr):
        where = {"survey_year": "2018", "horizon": "1-Year", "survey": "person", "root_dir": str(DOWNLOADS)}
        return folktables.ACSDataSource(**where).get_data(states=["CA"], download=True)


def californian(folder: Path, task: str) -> list[str]:
    """A folktables task: features and target of 2018, California, 80 % of the rows to train on."""
    import folktables

    features, target, _ = getattr(folktables, task).df_to_pandas(californians())
    target = target.astype(int)
    target.columns = ["TARGET"]  # which may bear a feature's name: the binary one is kept apart
    rows = pd.concat([features, target], axis=1)
    halves(rows, folder)
    return ["--categorical", ",".join(c for c in rows if c not in NUMBERS), "--target", "TARGET"]


def tables(wanted: list[str]) -> dict:
    """Which tables can be had here, and what writes them; says so."""
    try:
        californians()
    except Exception as error:  # no package, no connection, a changed address: all mean the same here
        print(f"The California tasks cannot be had ({type(error).__name__}): ACSIncome of Colorado 2018 instead.\n")
        return {"ACSIncome, Colorado": acs}
    print("folktables: California 2018.\n")
    return {task: lambda folder, task=task: californian(folder, task) for task in wanted}


def published_epsilon(epsilon: float, schema: Path, sampled: dict[str, float]) -> float:
    """The epsilon to which the published bound's noise really amounts, by bisection; ``sampled``: rate and swap."""
    from synth.generators.papers.slicing import scaled
    from synth.schema.table import load

    dim = scaled(load(schema)).dim  # coordinates of the published encoding: a category each, a number one
    noise = theorem_1(epsilon, 1e-5, dim=dim, num_slices=NUM_SLICES, rate=sampled.get("rate", 1.0))
    low, high = epsilon / 100, 10 * epsilon
    for _ in range(30):
        middle = (low + high) / 2
        needed = slice_sigma(epsilon=middle, delta=1e-5, sensitivity=1.0, dim=dim, num_slices=NUM_SLICES, **sampled)
        low, high = (low, middle) if needed < noise else (middle, high)
    return low


def one(folder: Path, cell: Row) -> Row:
    """One run through the command line, and its scores."""
    method, options = (METHODS | STEPS)[cell["method"]]
    epsilon = cell["epsilon"]
    if cell["method"] in OWN_ACCOUNTING:
        epsilon = published_epsilon(epsilon, folder / "schema.json", OWN_ACCOUNTING[cell["method"]])
    run = cell | {"method": method, "options": options, "epsilon": epsilon}
    return ran_and_scored(folder, run, "--relation", cell["relation"])


def main(given) -> None:
    if getattr(given, "from"):  # the Bureau's files of California, put where folktables looks
        from synth.schema.census import bring

        bring(getattr(given, "from"), DOWNLOADS, state="CA", code="06", year=2018)
    known = STEPS if given.steps else METHODS
    labels = given.methods or list(known)
    if unknown := [label for label in labels if label not in known]:
        sys.exit(f"--methods {', '.join(unknown)}: choose of {', '.join(known)}")
    for label in [label for label in labels if known[label][0] not in GENERATORS]:
        print(f"Not in this build, skipped: {label} ({known[label][0]}).")
    labels = [label for label in labels if known[label][0] in GENERATORS]
    given.json = given.json or RESULTS / f"{'steps' if given.steps else 'table1'}.json"
    makers, few = tables(given.tasks), f", {given.rows:,} rows" if given.rows else ""

    def make(folder: Path, task: str) -> list[str]:
        options = makers[task.removesuffix(few)](folder)
        if given.rows:
            texts(folder / "train.csv")[: given.rows].to_csv(folder / "train.csv", index=False)
        return options

    ways = {"epsilon": given.epsilons, "relation": [given.relation], "method": labels, "seed": range(given.seeds)}
    cells = grid(table=[task + few for task in makers], **ways)
    place = lambda task: prepared(task, lambda folder: make(folder, task))  # noqa: E731
    rows = measured(given, cells, one, prepare=place)
    asked = [r for c in cells for r in rows if same(r, c)]
    print(means(asked, ("table", "epsilon", "method"), dict.fromkeys(SCORES, 3) | {"seconds": 1}, runs="runs"))


if __name__ == "__main__":
    usual = {"epsilons": [5.1], "seeds": 1, "methods": ";", "tasks": TASKS, "relation": "zero_out", "rows": 0}
    start(main, public=True, steps=False, **{"from": Path}, **usual)
