"""Single mechanisms along their worst shift: how near what they let out is to what they claim."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any

import numpy as np

from synth.evaluate.audit.likelihood_ratios import ratio
from synth.evaluate.audit.neighbours import ODD, Pair, Positions, worst_pair
from synth.evaluate.audit.statistics import DELTA, Claim, Finding, examine
from synth.pipeline.budget import mechanisms
from synth.privacy.accounting.composition import epsilon_of
from synth.privacy.accounting.events import GaussianDpEvent, total_mu
from synth.privacy.accounting.gaussian import calibrate, derived_epsilon
from synth.privacy.noise import SystemNoise
from synth.questions import (
    Bins,
    Block,
    Counts,
    Embedding,
    Encoding,
    FunctionalQuery,
    Marginal,
    Nearest,
    ProductKernel,
    Slices,
    SlicesRelease,
    Tensors,
    Term,
)
from synth.questions.features import looked_up
from synth.questions.kernels import LEAST_NUGGET

KIND = Bins.each("kind", 4)
TABLES = 3  # tables of counts that share the budget; of one alone, rounding would hide much of a small noise
BATCH = 50  # as many draws of them for the price of one question


@dataclass(frozen=True, kw_only=True)
class Bare:
    """``mu`` estimated from draws, ``claimed`` by the events; the epsilons that both come to at ``delta``."""

    name: str
    claimed: float
    mu: float
    epsilon_claimed: float
    epsilon_implied: float
    delta: float
    draws: int
    finding: Finding = field(repr=False)


ENCODING = Encoding(blocks=(Block.one_hot(KIND, weight=1.0),))
FEATURES = Tensors(terms=(Term(blocks=ENCODING.blocks, weight=1.0),))
PATH = ProductKernel(bins=(KIND,), tables=(np.full((4, 4), 0.3) + 0.7 * np.eye(4),))
BARE: dict[str, Callable[[float, int], Any]] = {  # of a sigma and a turn the question that is asked
    # equal tables, each with noise of its own: ``BATCH`` draws of ``TABLES``
    "counts": lambda sigma, _: Counts(
        purpose="counts", marginals=(Marginal(bins=(KIND,), sigma=sigma * sqrt(TABLES)),) * (TABLES * BATCH)
    ),
    # on all directions of a rotation, in one group
    "slices, rotation": lambda sigma, _: Slices(purpose="slices", encoding=ENCODING, sigma=sigma, groups=1),
    # each row's one vote for the nearest of four candidates
    "votes": lambda sigma, _: Nearest(
        purpose="votes",
        bins=(KIND,),
        candidates=np.arange(4)[:, None],
        distances=(1 - np.eye(4, dtype=np.int64),),
        sigma=sigma,
    ),
    # whose shift is random and told
    "slices, Gaussian directions": lambda sigma, _: Slices(
        purpose="slices", encoding=ENCODING, sigma=sigma, groups=1, directions="gaussian", num_slices=4
    ),
    # a noised sum of features of unit norm
    "embeddings": lambda sigma, _: Embedding(purpose="embedding", features=FEATURES, sigma=sigma),
    # a new path each time, told at all kinds of rows
    "functional": lambda sigma, turn: FunctionalQuery(
        name=f"path {turn}",
        purpose="path",
        kernel=PATH,
        sigma=sigma,
        nugget=LEAST_NUGGET,
        points=np.arange(4)[:, None],
    ),
}


def bare(
    name: str,
    *,
    epsilon: float,
    delta: float = 1e-5,
    draws: int = 100_000,
    confidence: float = 0.999,
    scale: float = 1.0,
) -> Bare:
    """Estimates mu of one mechanism from ``draws`` answers on each of two neighbouring tables, standardised.

    Where the shift is random, mu is in units of the shift that each answer tells of itself: what is estimated is then
    the mechanism's sensitivity / sigma. The estimate's error is about sqrt(2 / draws). ``scale``: of the noise that is
    really drawn, against the noise that is claimed; to see that an audit notices.
    """
    mu, pair, ask = calibrate(epsilon, delta), worst_pair("add_remove"), BARE[name]
    (one, size), (other, _) = (_scores(ask, 1 / mu, scale, pair, rows, draws) for rows in (pair.one, pair.other))
    spread = sqrt((one.var(ddof=1) + other.var(ddof=1)) / 2)
    result = float(one.mean() - other.mean()) / spread * (mu / size)
    return Bare(
        name=name,
        claimed=mu,
        mu=result,
        epsilon_claimed=derived_epsilon(mu, delta),
        epsilon_implied=derived_epsilon(result, delta),
        delta=delta,
        draws=len(one),
        finding=examine(
            one, other, claim=_claim(ask(1 / mu, 0), pair, delta), confidence=confidence, names=["likelihood"]
        ),
    )


def _claim(question: Any, pair: Pair, delta: float) -> Claim:
    """What one such question claims."""
    events = mechanisms()[type(question)].events(question, pair.adjacency)
    if isinstance(question, Counts):
        events = [replace(events[0], count=TABLES)]
    mu = total_mu(events) if all(isinstance(e, GaussianDpEvent) for e in events) else None
    profile = tuple((d, epsilon_of(events, d)) for d in (DELTA, 0.05, 0.2))
    return Claim(epsilon=epsilon_of(events, delta), delta=delta, profile=profile, mu=mu)


def _scores(
    ask: Callable[[float, int], Any], sigma: float, scale: float, pair: Pair, rows: Positions, draws: int
) -> tuple[np.ndarray, float]:
    """Log likelihood ratios over their own deviation, and the mean of the deviation that is claimed."""
    scores: list[float] = []
    sizes: list[float] = []
    noise, first = SystemNoise(), ask(sigma * scale, 0)
    if isinstance(first, Counts):
        return _counts(first, rows, draws, noise), 1 / sigma
    known: Mapping[type, Any] = mechanisms()
    for turn in range(draws):
        question = first
        if isinstance(first, FunctionalQuery):
            question, known = ask(sigma * scale, turn), mechanisms()  # a path is told once
        release = known[type(question)].answer(question, rows, noise)
        size = _shift_of(release, pair) / sigma
        scores.append(ratio(release, pair.one, pair.other) / (size / scale))
        sizes.append(size)
    return np.array(scores), float(np.mean(sizes))


def _counts(question: Counts, rows: Positions, draws: int, noise: SystemNoise) -> np.ndarray:
    """The odd row's cell, summed over ``TABLES`` tables, in units of its noise."""
    asked, drawn = mechanisms()[Counts], []
    deviation = question.marginals[0].sigma * sqrt(TABLES)
    for _ in range(-(-draws // (len(question.marginals) // TABLES))):
        cells = np.array([v[ODD["kind"]] for v in asked.answer(question, rows, noise).values])
        drawn.append(cells.reshape(-1, TABLES).sum(1) / deviation)
    return np.concatenate(drawn)[:draws]


def _shift_of(release: Any, pair: Pair) -> float:
    """How far the odd row moves this answer, 1 but for random shifts."""
    if isinstance(release, SlicesRelease) and release.directions is not None:
        row = {n: a[:1] for n, a in pair.one.items()}
        shifted = np.hstack([looked_up(b, row[b.bins.column]) for b in release.question.encoding.blocks])
        return float(np.linalg.norm(shifted @ release.directions))
    return 1.0
