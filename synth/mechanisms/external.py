"""AIM and MST as OpenDP runs them, with OpenDP's own noise. Proof note: external.md beside this file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from synth.mechanisms import counts
from synth.numeric.markov_field import MarkovRandomField, MeasuredTable
from synth.privacy.accounting.events import Event, ZCDpEvent
from synth.privacy.noise import SystemNoise
from synth.privacy.relation import Adjacency
from synth.questions import External, ExternalRelease
from synth.questions.features import codes

changed_cells = counts.no_cells  # of our noise: OpenDP's is exact

SHADE, TRIES = 1e-11, 100  # steps down from rho until OpenDP accepts it, see `workable`
ONE_WAY, MEASURED = 0.5, 0.9  # shares of one-way tables, and of what is left, of measuring what was selected
EXHAUSTED = "filter is now exhausted"  # OpenDP's words when a question would exceed the budget
ITERATIONS = 500  # most, of the fit between two of AIM's rounds, which starts from the fit before


def events(question: External, adjacency: Adjacency) -> list[Event]:
    """One event of zero-concentrated privacy rho. Errors: ValueError when the question assumes closer neighbours.

    Privacy: public only.
    """
    if question.contributions < counts.changed(adjacency):  # in OpenDP's distance a replaced row goes and comes
        raise ValueError("the question's contributions are fewer than this relation's")
    return [ZCDpEvent(name=question.purpose, sensitivity=question.contributions, sigma=question.sigma)]


def answer(question: External, rows: Mapping[str, np.ndarray], noise: SystemNoise) -> ExternalRelease:  # noqa: ARG001
    """The tables that the algorithm chose and measured. OpenDP draws the noise; ours is not asked.

    ``rows``: by column the positions (n,), whole numbers.

    **Guarantee**: rho-zCDP towards tables that differ by ``contributions`` rows (external.md). Memory: the exact
    counts of all candidate tables, 4 bytes a cell, besides AIM's model.

    Privacy: reads rows, under noise that is OpenDP's.
    """
    released = _Measured(question)
    found = [codes(b, rows[b.column]) for b in question.bins]
    try:
        _release(question, found, released)
    except Exception as error:
        # AIM's last round may ask for a shade more than is left: what was measured before it stands
        measured = any(len(m.clique) > 1 for m in released.measured)
        if question.algorithm != "aim" or not measured or not _exhausted(error):
            raise
    return _packed(question, released.measured)


def _exhausted(error: Exception) -> bool:
    """Whether OpenDP's filter refused a question, as sums of the budget alone decide; no other fault is passed over."""
    from opendp.mod import OpenDPException

    return isinstance(error, OpenDPException) and EXHAUSTED in str(error)


@dataclass(frozen=True)
class Terms:
    """What OpenDP is asked for: rho, the share of measuring, and how many constant columns are added.

    Privacy: public only.
    """

    rho: float
    measured: float = MEASURED
    more: int = 0


@lru_cache(maxsize=256)
def workable(algorithm: str, columns: int, rho: float) -> Terms:
    """Terms whose parts OpenDP does not find larger than the whole, with a rho within 1e-8 below the one given.

    It rounds sums of parts upwards, and so refuses MST, halfway, for most rho: those that leave equal parts of many
    digits. Which, depends on rho, the share and the number of columns alone; OpenDP's own sums are asked. A number of
    pairs for which none will do is passed over by a public column of one value. AIM takes what is left, so that nothing
    of it can be too large. Errors: ValueError when none is found.

    Privacy: public only.
    """
    if algorithm != "mst":
        return Terms(rho)
    for more in range(3):
        for measured in (MEASURED, *(MEASURED + s * i / 100 for i in range(1, 4) for s in (1, -1))):
            for tried in (rho * (1 - SHADE * k) for k in range(TRIES)):
                sums = _mst_sums(tried, columns + more, measured)
                if all(_total(parts) <= whole for whole, parts in sums):
                    return Terms(tried, measured, more)
    raise ValueError("OpenDP accepts no rho near the one asked for")


def _mst_sums(rho: float, columns: int, measured: float) -> list[tuple[float, list[float]]]:
    """The sums that OpenDP forms in MST: each whole and its parts, as its code splits them."""
    paired = _below(_below(rho - rho * ONE_WAY))
    counted = paired * measured
    selected = _below(_below(paired - counted))
    each = _below(selected / (columns - 1))
    return [(selected, [each] * (columns - 1)), (paired, [selected, counted]), (rho, [rho * ONE_WAY, paired])]


def _below(x: float) -> float:
    return float(np.nextafter(x, -np.inf))


def _total(parts: Sequence[float]) -> float:
    """What OpenDP's composition makes of these parts."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    together = dp.c.make_adaptive_composition(
        *space, output_measure=dp.zero_concentrated_divergence(), d_in=1.0, d_mids=list(parts)
    )
    return float(together.map(1.0))


def _release(question: External, found: Sequence[np.ndarray], released: "_Measured") -> None:
    """One run of the algorithm; ``released`` is handed each list of measurements as it grows."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    terms = workable(question.algorithm, len(question.bins), question.rho)
    found = [*found, *[np.zeros_like(found[0])] * terms.more]
    names = [f"c{i}" for i in range(len(found))]
    sizes = released.sizes = [b.size for b in question.bins] + [2] * terms.more
    # OpenDP gives every column one more category, the missing value: our last bin takes its place.
    frame = pl.DataFrame(
        {n: pl.Series(n, k, dtype=pl.Int64).replace(s - 1, None) for n, k, s in zip(names, found, sizes, strict=True)}
    )
    keys = {n: [*range(s - 1), None] for n, s in zip(names, sizes, strict=True)}
    context = dp.Context.compositor(
        data=frame.lazy(),
        privacy_unit=dp.unit_of(contributions=question.contributions),
        privacy_loss=dp.loss_of(rho=question.rho),
    )
    asked = context.query(rho=terms.rho).select(*names)
    how: dict[str, Any] = {"estimator": released.estimate, "oneway_split": ONE_WAY, "measure_split": terms.measured}
    if question.algorithm == "aim":
        named = [dp.mbi.Count(tuple(f"c{i}" for i in c), w) for c, w in question.workload]
        how |= {"queries": named or 2, "rounds": question.rounds or None, "max_size": question.max_size}
    algorithm = dp.mbi.AIM if question.algorithm == "aim" else dp.mbi.MST
    asked.contingency_table(keys=keys, algorithm=algorithm(**how)).release()


class _Measured:
    """What was measured so far, seen through the estimator that OpenDP calls after each step; all of it is noisy."""

    def __init__(self, question: External) -> None:
        self.sizes = [b.size for b in question.bins]
        self.measured: list[Any] = []
        self.field: MarkovRandomField | None = None

    def estimate(self, domain: Any, measured: list[Any], *, potentials: Any = None) -> Any:  # noqa: ARG002
        """OpenDP's model of what was measured: mbi's class, our tables (mbi would compile each model anew).

        MST chooses all pairs by the model of the one-way tables and never looks at the last one.
        """
        from mbi import MarkovRandomField as Marginals

        self.measured = list(measured)
        start = self.field.potentials if self.field else None
        self.field = field = MarkovRandomField.fit(
            self.sizes, tables(self.sizes, measured), start=start, iterations=ITERATIONS
        )
        known = SimpleNamespace(
            supports=lambda _: True,
            project=lambda names: SimpleNamespace(values=field.table(_numbers(names))),
        )
        cliques = [tuple(f"c{i}" for i in c) for c in field.potentials]
        shell = SimpleNamespace(domain=domain, cliques=cliques)
        return Marginals(potentials=shell, marginals=known, total=field.total)


def _numbers(names: Sequence[str]) -> tuple[int, ...]:
    return tuple(int(n[1:]) for n in names)


def tables(sizes: Sequence[int], measured: Sequence[Any]) -> list[MeasuredTable]:
    """OpenDP's measurements as tables of numbered columns.

    Privacy: released answers only.
    """
    cliques = [_numbers(m.clique) for m in measured]
    shapes = [[sizes[i] for i in c] for c in cliques]
    values = [np.asarray(m.noisy_measurement, dtype=float).reshape(s) for m, s in zip(measured, shapes, strict=True)]
    return [MeasuredTable(c, v, float(m.stddev)) for c, v, m in zip(cliques, values, measured, strict=True)]


def _packed(question: External, measured: Sequence[Any]) -> ExternalRelease:
    real = [m for m in measured if all(i < len(question.bins) for i in _numbers(m.clique))]
    result = tables([b.size for b in question.bins], real)
    return ExternalRelease(
        question=question,
        cliques=tuple(t.columns for t in result),
        values=tuple(t.values.astype(np.int64) for t in result),
        sigmas=tuple(t.sigma for t in result),
    )
