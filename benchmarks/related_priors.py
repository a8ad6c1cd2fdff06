"""What public related tables beside the private ones are worth: a third of the accounts and persons, set apart.

    python benchmarks/related_priors.py [--epsilons 1] [--seeds 3]

A third of the accounts of relational_bank, drawn anew for each seed, with the persons who hold them, is public, the
rest private; `permuted`: the public third with each column shuffled by itself. For each kind of table of two columns
(related_scores.py) the mean total variation between the real rows and the model's; epsilon 0 is the public third alone.
`believed`: the part of the tables of two columns of which the fit takes anything from the public ones, in six draws
without a fit; a table that is not believed stays as it is without a prior.
Needs the public tables beside the checkout. Prints Markdown, which docs/prior.md holds.
"""

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from markdown_tables import means
from related_cases import Case, persons
from related_floor import KINDS, LEAST
from related_peers import DELTA
from related_scores import Coder, coded, scores
from runner import Row, grid, measured, start

import synth
from synth.generators.base import Run
from synth.generators.nested_mixture.generator import Nested
from synth.mechanisms import linked
from synth.pipeline.budget import setting
from synth.pipeline.draw_rows import DrawnTables, whole
from synth.pipeline.methods import granted
from synth.pipeline.priors import PriorTrees, encoded, stated
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import Relation

WHY = "set apart for an experiment"
BELIEVED, DRAWS = "tables believed", 6


@contextmanager
def place(table: str):
    """The whole tables."""
    assert table in ("persons", BELIEVED)
    yield persons()


def parts(case: Case, seed: int) -> tuple[Case, Case]:
    """The public third and the private rest."""
    column = case.key["columns"][0]
    roots = case.tables[case.key["parent"]][column]
    chosen = set(roots[np.random.default_rng(seed).integers(0, 3, len(roots)) == 0])
    inside = {t: f[column].isin(chosen) for t, f in case.tables.items()}
    return tuple(  # type: ignore[return-value]
        Case(case.name, {t: f[inside[t] == held].reset_index(drop=True) for t, f in case.tables.items()}, case.schema)
        for held in (True, False)
    )


def permuted(case: Case, tables: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Each column but keys shuffled by itself."""
    held, rng = {*case.key["columns"]}, np.random.default_rng(0)
    return {t: f.assign(**{n: rng.permutation(f[n]) for n in f if n not in held}) for t, f in tables.items()}


def trees(tables: dict[str, pd.DataFrame], schema) -> PriorTrees:
    """The tables as a prior is read."""
    with TemporaryDirectory() as name:
        for table, rows in tables.items():
            rows.to_csv(Path(name) / f"{table}.csv", index=False)
        (prior,) = stated([name], WHY, schema, Nested())
        return encoded([prior], schema)[0]  # type: ignore[return-value]


def believed(case: Case, cell: Row) -> Row:
    """Which part of the tables is believed; answers without a fit."""
    public, private = parts(case, cell["seed"])
    schema = synth.app_api.parse_related(case.schema)
    known = trees(permuted(case, public.tables) if cell["prior"] == "permuted" else public.tables, schema)
    forest, noise = trees(private.tables, schema).trees, SeededNoise(cell["seed"])
    grant = granted(cell["epsilon"], DELTA, adjacency_of(schema, Relation.ADD_REMOVE), learning=False)
    given = replace(setting(schema, grant, public_rows=None), priors=(known,))
    answers = Nested().measure(Run(lambda q: linked.answer(q, forest, noise), given))
    parts_left = Nested().noise_left(answers, given).values()
    return {"believed": float(np.mean([np.ndim(part) > 0 for part in parts_left]))}


def one(case: Case, cell: Row) -> Row:
    """One run and its scores; of the prior alone those of its rows."""
    if cell["table"] == BELIEVED:
        return believed(case, cell)
    public, private = parts(case, cell["seed"])
    coder, rng = Coder(private), np.random.default_rng(0)
    real = coded(private, private.tables, coder)
    made = public.tables
    if cell["epsilon"]:
        made = permuted(case, made) if cell["prior"] == "permuted" else made
        with TemporaryDirectory() as name:
            for table, rows in made.items():
                rows.to_csv(Path(name) / f"{table}.csv", index=False)
            how = {} if cell["prior"] == "none" else {"prior": name, "prior_reason": WHY}
            schema, ledger = synth.app_api.parse_related(case.schema), Path(name) / "ledger.sqlite"
            result = synth.run(
                private.tables, schema=schema, epsilon=cell["epsilon"], delta=DELTA, ledger=ledger, **how
            )
        drawn = DrawnTables(result.model, LEAST, rng=rng)
        made = {t: pd.DataFrame({n: a.to_pandas() for n, a in whole(drawn.blocks(t)).items()}) for t in case.tables}
    results = scores(real, coded(private, made, coder))
    return {what: results[name]["error"] for what, name in KINDS.items()}


def cases(given) -> list[Row]:
    """With each prior, and the public third alone."""
    seeds = range(given.seeds)
    runs = grid(table=["persons"], epsilon=given.epsilons, prior=("none", "third", "permuted"), seed=seeds)
    runs += grid(table=["persons"], epsilon=[0], prior=["third"], seed=seeds)
    return runs + grid(table=[BELIEVED], epsilon=given.epsilons, prior=("third", "permuted"), seed=range(DRAWS))


def markdown(rows: list[Row]) -> str:
    """A line for each prior and epsilon; then which part of the tables is believed."""
    alone = [r for r in rows if r["table"] == BELIEVED]
    whole = means([r for r in rows if r["table"] != BELIEVED], ["table", "epsilon", "prior"], dict.fromkeys(KINDS, 3))
    return f"{whole}\n\n{means(alone, ['epsilon', 'prior'], {'believed': 2}, runs='draws')}"


def main(given) -> None:
    """Measures, prints, stores."""
    print(markdown(measured(given, cases(given), one, prepare=place)))


if __name__ == "__main__":
    start(main, json="related_priors", epsilons=[1.0], seeds=3)
