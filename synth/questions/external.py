"""A question that another library answers with its own noise: marginals chosen and measured by AIM or MST."""

from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from synth.questions.tables import Bins, Question, Release

ALGORITHMS = ("mst", "aim")


@dataclass(frozen=True, kw_only=True, eq=False)
class External(Question):
    """Question: which tables describe these columns best, and what are their counts? One algorithm, one answer.

    ``bins``: one grouping for each column, at least two, each of at least two bins that hold every position.
    ``rho``: the whole answer's zero-concentrated differential privacy, towards tables that differ by at most
    ``contributions`` rows added or removed (a replaced row is two). ``rounds``: most tables that AIM asks for; 0 for
    its own rule, 16 for each column. ``max_size``: most megabytes of AIM's model. Both choose among all pairs;
    ``workload``: AIM instead among these tables and all parts of them, columns by their numbers, each with the weight
    of its error (above 0).

    Errors: ValueError naming the first field out of its range.
    Privacy: public only.
    """

    purpose: str
    algorithm: str
    bins: tuple[Bins, ...]
    rho: float
    contributions: int = 1
    rounds: int = 0
    max_size: float = 80.0
    workload: tuple[tuple[tuple[int, ...], float], ...] = ()

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithms are {', '.join(ALGORITHMS)}")
        if not (isfinite(self.rho) and self.rho > 0 and isfinite(self.max_size) and self.max_size > 0):
            raise ValueError("a positive, finite rho and max_size are needed")
        if self.rounds < 0 or self.contributions < 1:
            raise ValueError("rounds are 0 or more, contributions 1 or more")
        if len(self.bins) < 2 or any(b.size < 2 or b.groups.min() < 0 for b in self.bins):
            raise ValueError("at least two columns, each of at least two bins that hold every position, are needed")
        if self.workload and self.algorithm != "aim":
            raise ValueError("only AIM takes a workload")
        for columns, weight in self.workload:
            inside = {*range(len(self.bins))} >= {*columns}
            if not (inside and 1 < len(columns) == len({*columns}) and isfinite(weight) and weight > 0):
                raise ValueError("a table of the workload has two columns or more, each once, and a positive weight")
        if len({b.column for b in self.bins}) < len(self.bins):
            raise ValueError("each column may be asked about once")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns asked about."""
        return tuple(b.column for b in self.bins)

    @property
    def sigma(self) -> float:
        """Noise of one table of counts that alone would take the whole of rho, in rows; what is released has more."""
        return self.contributions / sqrt(2 * self.rho)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExternalRelease(Release):
    """Answer: all that the algorithm published. Table i counts the columns ``cliques[i]`` (numbers in the question).

    ``values[i]``: int64, an axis of ``bins[c].size`` for each column c of the clique. ``sigmas[i]``: its noise, in
    rows. The choice of the cliques is part of what was paid for.

    Errors: ValueError where a clique lacks its table or its noise.
    Privacy: released answers only.
    """

    question: External
    cliques: tuple[tuple[int, ...], ...]
    values: tuple[np.ndarray, ...]
    sigmas: tuple[float, ...]

    def __post_init__(self) -> None:
        if not len(self.cliques) == len(self.values) == len(self.sigmas):
            raise ValueError("a table and its noise for each clique are needed")
        for clique, values, sigma in zip(self.cliques, self.values, self.sigmas, strict=True):
            wanted = tuple(self.question.bins[c].size for c in clique)
            if not clique or values.shape != wanted or not sigma > 0:
                raise ValueError("an array of each clique's shape and positive noise are needed")
