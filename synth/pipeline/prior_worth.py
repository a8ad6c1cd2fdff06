"""What priors are worth before anything is spent: the run rehearsed on their own rows, with and without them.

The private table is taken for another sample of the people of whom the prior is one. Where it is, the figures are what
a run reaches; where it is not, the method sees that in its noisy answers and uses less of the prior, down to the figure
without.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from synth.generators.base import Run, Setting
from synth.pipeline.budget import mechanisms, setting
from synth.pipeline.fit_and_draw import Wanted, fit_and_sample
from synth.pipeline.methods import generator_named, granted
from synth.pipeline.plan_result import Errors, PriorWorth
from synth.pipeline.priors import PriorRows, encoded, stated
from synth.pipeline.public_twin import Positions, apart, stand_in, twin_of
from synth.pipeline.reporting import Quiet
from synth.pipeline.schema_approval import adjacency_of
from synth.privacy.curator import Curator, Grant
from synth.privacy.noise import SeededNoise
from synth.privacy.relation import relation_named
from synth.schema.table import Schema

MOST_ROWS = 20_000  # of the stand-in; noise is in proportion to the rows there would be
METHOD = "mixture"
FITS = 4  # mixtures of an ensemble in the rehearsal; more and tables of three columns move its figures little


def worth(
    schema: Schema,
    prior: Sequence[Any],
    *,
    rows: int,
    epsilons: Sequence[float],
    delta: float,
    prior_reason: Any = None,
    relation: str = "add_remove",
    method: str = METHOD,
    options: Mapping[str, Any] | None = None,
    ledger: Any = None,
) -> list[PriorWorth]:
    """What the priors are worth on about ``rows`` rows, for each epsilon. Opens no private table.

    ``schema``: complete; ``epsilons``: each above 0; ``prior``, ``prior_reason``, ``delta``, ``relation``, ``method``,
    ``options``, ``ledger``: as of ``run``. Errors: UsageError, InputError as of a run with these priors.

    Privacy: public only: its rows are drawn from the priors.
    """
    link = relation_named(relation)
    adjacency = adjacency_of(schema, link)
    generator = _quick(generator_named(method, link, options))
    known = encoded(stated([str(p) for p in prior], prior_reason, schema, generator, ledger=ledger), schema)
    rng = np.random.default_rng(0)
    twin, size = twin_of(known), min(rows, MOST_ROWS)
    private = stand_in(twin, schema, size, rng=rng)
    beside = tuple(p.drawn_again(rng=rng) if p is twin else p for p in known)
    names = [n for n in schema.measured() if n in twin.columns]
    alone = _errors(private, twin.drawn_again(rng=rng).rows, schema, names)
    out = []
    for epsilon in epsilons:
        grant = granted(epsilon, delta, adjacency, learning=False)
        scaled = replace(grant, mu=grant.mu * rows / size)  # the same noise in parts of the rows
        reported = [_errors(private, _made(generator, schema, scaled, private, p), schema, names) for p in ((), beside)]
        out.append(
            PriorWorth(
                epsilon=epsilon,
                like=twin.name,
                columns=len(names),
                without=reported[0],
                beside=reported[1],
                alone=alone,
            )
        )
    return out


def _quick(generator: Any) -> Any:
    """The method with a smaller ensemble, and without searches for larger tables: seconds instead of minutes."""
    fit = getattr(generator, "options", None)
    if fit is None or not hasattr(fit, "ensembles"):
        return generator
    return replace(generator, rounds=0, options=replace(fit, ensembles=min(fit.ensembles, FITS)))


def _made(
    generator: Any, schema: Schema, grant: Grant, private: Positions, priors: Sequence[PriorRows]
) -> dict[str, np.ndarray]:
    """Rows of one rehearsed run, as positions; its noise is seeded, for it protects nobody."""
    rows = len(next(iter(private.values())))
    session = Curator(
        grant=grant, commit=lambda: None, read=lambda: private, mechanisms=mechanisms(), noise=SeededNoise(0)
    )
    session.open()
    public = rows if grant.adjacency.rows_are_public else None
    circumstances: Setting = setting(schema, grant, public_rows=public)
    releases = generator.measure(Run(session.ask, replace(circumstances, priors=tuple(priors)), Quiet().progress))
    session.close()
    made = fit_and_sample(generator, releases, circumstances, Quiet(), Wanted(seed=0, num_rows=1))
    drawn: dict[str, np.ndarray] = made.model.sample(rows, rng=np.random.default_rng(1))
    return drawn


def _errors(real: Positions, made: Positions, schema: Schema, names: Sequence[str]) -> Errors:
    columns, pairs = apart(real, made, schema, names)
    return Errors(columns=columns, pairs=pairs)
