"""The published comparison of slicing (arXiv 2410.19941, Tables 1 and 3) on its tasks, at the same epsilon.

    python benchmarks/table1.py [--epsilons 5.1,8.1] [--seeds 1] [--methods ...] [--tasks ACSIncome,...] [--steps]
                                [--relation zero_out] [--fresh] [--json FILE] [--from FOLDER] [--rows N]

With `folktables` and a connection, or with the Census Bureau's files in --from FOLDER (docs/fetch.md): the five ACS
2018 California tasks. Without: the Colorado extract of ACSIncome in ../shared/data; the first line says which. A
method that this build lacks is named and skipped. Runs that the JSON file (benchmarks/results/table1.json, steps.json
with --steps) holds already are passed over, so that a run that was stopped goes on; --fresh begins anew. Prints
Markdown. Needs score.py in ../shared/tools.

--rows: learns from the first N of the training rows, for what takes an hour on all of them; such lines name N.

--steps: what each step away from the published algorithm buys, epsilon and relation being the same. The first step is
the published bound's noise: a run at the smaller epsilon to which that noise really amounts.
"""

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import flagship
import pandas as pd
from markdown_tables import means, store, stored

from synth.generators import GENERATORS
from synth.privacy.accounting.slice_profile import slice_sigma, theorem_1

RESULTS = flagship.ROOT / "benchmarks" / "results"
DOWNLOADS = flagship.ROOT / "build" / "folktables"
SCORES = ("tv", "ks", "contsim", "corrsim", "logreg_f1", "tstr_auc")
TASKS = ("ACSIncome", "ACSPublicCoverage", "ACSMobility", "ACSEmployment", "ACSTravelTime")
NUMBERS = {"AGEP", "WKHP", "JWMNP", "PINCP", "POVPIP"}  # features on a scale; all others are codes
NUM_SLICES = 200
PAPER = {"loss": "kl", "directions": "gaussian", "num_slices": NUM_SLICES}
SCHEDULE = {"epochs": 200, "learning_rate": 2e-5, "rate": 0.25}  # the published training; all others are quicker ones
SORTED = {"directions": "gaussian", "num_slices": NUM_SLICES, "batch": 512}
PAID = {"oneway_share": 0.3}  # of the budget, for counts of single columns: what the rivals' defaults start from
BARE = {"oneway_share": 0.01}  # the least that their options allow: a row count, and hardly more
CELL = ("table", "epsilon", "relation", "method", "seed")  # what tells one run from another
# the published table's five rows, then this library's own; each with and without one-way counts; slow ones last
METHODS: dict[str, tuple[str, dict]] = {
    "slicing (groups)": ("slicing", {}),
    "mixture": ("mixture", {}),
    "single records (best fit)": ("slicing", {"groups": "records"}),
    "slicing (groups) alone": ("slicing", {"encoding": "binned"}),
    "PATE + one-ways": ("pate_gan", {}),
    "PATE": ("pate_gan", BARE),
    "MERF + one-ways": ("dp_merf", {}),
    "MERF": ("dp_merf", BARE),
    "DP-SGD + one-ways": ("dp_ctgan", {}),
    "DP-SGD": ("dp_ctgan", BARE),
    "SliceWass + one-ways": ("slice_wasserstein", {**SORTED, **PAID}),
    "SliceWass": ("slice_wasserstein", SORTED),
    "Algorithm 1 + one-ways": ("slicing", {**PAPER, **PAID}),
    "Algorithm 1": ("slicing", PAPER),
    "Algorithm 1 by its schedule": ("slicing", {**PAPER, **SCHEDULE}),
}
STEPS: dict[str, dict] = {
    "Algorithm 1, noise by the published bound": PAPER,
    "noise by the exact profile": PAPER,
    "a rotation for the directions": {"loss": "kl"},
    "moments instead of a network": {"groups": "records"},
    "sums of groups": {"encoding": "binned"},
    "two stages": {},
}


def colorado(folder: Path) -> list[str]:
    return flagship.acs(folder)


def californians() -> pd.DataFrame:
    """Persons of California 2018; downloaded once. The package's own prints go to stderr."""
    import folktables

    with contextlib.redirect_stdout(sys.stderr):
        source = folktables.ACSDataSource(
            survey_year="2018", horizon="1-Year", survey="person", root_dir=str(DOWNLOADS)
        )
        return source.get_data(states=["CA"], download=True)


def californian(task: str) -> Callable[[Path], list[str]]:
    """A folktables task: features and target of 2018, California, 80 % of the rows to train on."""

    def write(folder: Path) -> list[str]:
        import folktables

        features, target, _ = getattr(folktables, task).df_to_pandas(californians())
        target = target.astype(int)
        # a target may bear a feature's name: the binary one is kept apart
        target.columns = ["TARGET"]
        rows = pd.concat([features, target], axis=1)
        flagship._halves(rows, folder)
        codes = [c for c in rows if c not in NUMBERS]
        return ["--categorical", ",".join(codes), "--target", "TARGET"]

    return write


def by_hand(folder: Path) -> None:
    """The Bureau's files of California, put where folktables looks."""
    from synth.schema.census_files import bring

    bring(folder, DOWNLOADS, state="CA", code="06", year=2018)


def tables(wanted: list[str]) -> dict[str, Callable[[Path], list[str]]]:
    """Which tables can be had here; says so."""
    try:
        californians()
    except Exception as error:  # no package, no connection, a changed address: all mean the same here
        print(f"The California tasks cannot be had ({type(error).__name__}): ACSIncome of Colorado 2018 instead.\n")
        return {"ACSIncome, Colorado": colorado}
    print("folktables: California 2018.\n")
    return {t: californian(t) for t in wanted}


def one(folder: Path, *, method: str, options: dict, epsilon: float, seed: int, relation: str) -> dict:
    """One run through the command line, and its scores."""
    out = folder / f"{method}-{epsilon}-{seed}-{abs(hash(tuple(options.items())))}"
    given = [x for name, value in options.items() for x in ("--option", f"{name}={value}")]
    run = json.loads(
        flagship.call(
            sys.executable,
            "-m",
            "synth",
            "run",
            folder / "train.csv",
            "--schema",
            folder / "schema.json",
            "--epsilon",
            epsilon,
            "--delta",
            1e-5,
            "--relation",
            relation,
            "--method",
            method,
            *given,
            "--out",
            out,
            "--seed",
            seed,
            "--ledger",
            folder / f"ledger-{relation}.sqlite",
            "--json",
        )
    )
    scored = folder / "scores.json"
    flagship.call(
        sys.executable,
        flagship.SHARED / "tools" / "score.py",
        "--real",
        folder / "train.csv",
        "--synthetic",
        out / "synthetic.csv",
        "--schema",
        out / "schema.json",
        "--test",
        folder / "test.csv",
        "--no-reference",
        "--json",
        scored,
    )
    found = json.loads(scored.read_text())
    return {**{k: found.get(k) for k in SCORES}, "seconds": run["seconds"], "epsilon_spent": run["epsilon_spent"]}


def published_epsilon(epsilon: float, dim: int) -> float:
    """The epsilon to which the published bound's noise really amounts, by bisection."""
    noise = theorem_1(epsilon, 1e-5, dim=dim, num_slices=NUM_SLICES)
    low, high = epsilon / 100, epsilon
    for _ in range(30):
        middle = (low + high) / 2
        needed = slice_sigma(epsilon=middle, delta=1e-5, sensitivity=1.0, dim=dim, num_slices=NUM_SLICES)
        low, high = (low, middle) if needed < noise else (middle, high)
    return low


def coordinates(schema: Path) -> int:
    """Coordinates of the published encoding: a category each, a number one."""
    from synth.generators.slices.encoding import scaled
    from synth.schema.table import load

    return scaled(load(schema)).dim


def markdown(rows: list[dict], first: list[str]) -> str:
    """Means over seeds."""
    return means(rows, first, {n: (n, 3) for n in SCORES} | {"seconds": ("seconds", 1)}, runs="runs")


def plan(given: argparse.Namespace, schema: Path, epsilon: float) -> list[tuple[str, str, dict, float]]:
    """(label, method, options, epsilon to run at) of everything to be measured on one table."""
    if given.steps:
        lower = published_epsilon(epsilon, coordinates(schema))
        return [(label, "slicing", o, lower if i == 0 else epsilon) for i, (label, o) in enumerate(STEPS.items())]
    wanted = given.methods.split(",") if given.methods else list(METHODS)
    if unknown := [label for label in wanted if label not in METHODS]:
        sys.exit(f"--methods {', '.join(unknown)}: choose of {', '.join(METHODS)}")
    return [(label, *METHODS[label], epsilon) for label in wanted]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epsilons", default="5.1")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", default="", help=f"of: {', '.join(METHODS)}")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--relation", default="zero_out", help="the published analysis' is zero_out")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--json", default="")
    parser.add_argument("--rows", type=int, default=0, help="of the table to learn from; 0: all")
    parser.add_argument("--from", dest="folder", type=Path, help="folder of the Census Bureau's files")
    return parser.parse_args()


def measured(given: argparse.Namespace, folder: Path, task: str, rows: list[dict], out: Path) -> list[tuple]:
    """Runs what is asked of one table and ``rows`` do not hold yet; the cells asked for, in order."""
    asked = []
    for epsilon in map(float, given.epsilons.split(",")):
        for label, method, options, spent in plan(given, folder / "schema.json", epsilon):
            if method not in GENERATORS:
                print(f"Not in this build, skipped: {label} ({method}).")
                continue
            for seed in range(given.seeds):
                cell = dict(zip(CELL, (task, epsilon, given.relation, label, seed), strict=True))
                asked.append(tuple(cell.values()))
                if asked[-1] in {_key(r) for r in rows}:
                    continue
                found = one(folder, method=method, options=options, epsilon=spent, seed=seed, relation=given.relation)
                rows.append({**cell, **found})
                store(out, rows)
                print(rows[-1], file=sys.stderr, flush=True)
    return asked


def _key(row: dict) -> tuple:
    return tuple(row.get(k) for k in CELL)


def main() -> None:
    given = arguments()
    flagship.need_tables()
    if given.folder:
        by_hand(given.folder)
    out = Path(given.json or RESULTS / ("steps.json" if given.steps else "table1.json"))
    out.parent.mkdir(parents=True, exist_ok=True)
    rows = stored(out, fresh=given.fresh)
    asked: list[tuple] = []
    for task, write in tables(given.tasks.split(",")).items():
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            flagship.drafted(folder, write(folder))
            if given.rows:
                task = f"{task}, {given.rows:,} rows"
                train = pd.read_csv(folder / "train.csv", dtype=str, keep_default_na=False, nrows=given.rows)
                train.to_csv(folder / "train.csv", index=False)
            asked += measured(given, folder, task, rows, out)
    if wanted := sorted((r for r in rows if _key(r) in asked), key=lambda r: asked.index(_key(r))):
        print(markdown(wanted, ["table", "epsilon", "method"]))


if __name__ == "__main__":
    main()
