"""How far off answers to many counting questions are promised to be: the lecture's table, with its constants.

Errors are shares of the rows, the largest among ``queries`` questions, but for a probability ``beta``. ``cells``: kinds
of rows that there are. Proof note: synth/mechanisms/query_errors.md.
"""

from dataclasses import dataclass
from math import ceil, log, sqrt

from synth.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Questions:
    """``queries`` counting questions about ``rows`` rows of ``cells`` kinds, at ``epsilon`` and ``delta``.

    Errors: UsageError for numbers that are none of these.
    Privacy: public only.
    """

    queries: int
    cells: int
    rows: int
    epsilon: float
    delta: float = 0.0
    beta: float = 0.05

    def __post_init__(self) -> None:
        if min(self.queries, self.cells, self.rows) < 1 or not (self.epsilon > 0 and 0 < self.beta < 1):
            raise UsageError("queries, cells and rows from 1, epsilon above 0 and beta between 0 and 1 are needed")


def on_queries(q: Questions) -> float:
    """Laplace noise on each answer: k ln(k / beta) / (n epsilon), or with a delta the root of k by Renyi's sums.

    >>> round(on_queries(Questions(queries=10, cells=32, rows=1000, epsilon=1.0)), 3)
    0.053
    """
    each = q.epsilon / q.queries
    if q.delta:
        rho = (sqrt(log(1 / q.delta) + q.epsilon) - sqrt(log(1 / q.delta))) ** 2  # rho + 2 sqrt(rho ln(1/delta)) there
        each = max(each, sqrt(2 * rho / q.queries))
    return log(q.queries / q.beta) / (q.rows * each)


def on_data(q: Questions) -> float:
    """Laplace noise on the count of every kind of row; a question adds up to |X| of them.

    **Source**: Chan, Shi, Song, ACM TISSEC 14 (2011), Corollary 2.9.

    >>> round(on_data(Questions(queries=10, cells=32, rows=1000, epsilon=1.0)), 3)
    0.039
    """
    tail = log(2 * q.queries / q.beta)
    return max(sqrt(q.cells), sqrt(tail)) * sqrt(8 * tail) / (q.rows * q.epsilon)


def best_alpha(q: Questions) -> float:
    """The error of the best small database at which SmallDB's whole bound is least: (4 ln|X| ln|Q| / (n eps))^(1/3)."""
    return float((4 * log(q.cells) * log(max(q.queries, 2)) / (q.rows * q.epsilon)) ** (1 / 3))


def records(q: Questions, alpha: float) -> int:
    """Records of which some database errs by at most ``alpha``: ln|Q| / alpha^2, rounded up."""
    return max(ceil(log(max(q.queries, 2)) / alpha**2), 1)


def small_database(q: Questions, alpha: float | None = None) -> float:
    """SmallDB: alpha + 2 (m ln|X| + ln(1 / beta)) / (n epsilon), m the records, alpha the best where none is given.

    >>> round(small_database(Questions(queries=10, cells=32, rows=1_000_000, epsilon=1.0)), 3)
    0.048
    """
    alpha = best_alpha(q) if alpha is None else alpha
    return alpha + 2 * (records(q, alpha) * log(q.cells) + log(1 / q.beta)) / (q.rows * q.epsilon)


def multiplicative_weights(q: Questions) -> float:
    """The order of private multiplicative weights' error, its constants left out as on the slides.

    >>> round(multiplicative_weights(Questions(queries=10, cells=32, rows=1_000_000, epsilon=1.0)), 3)
    0.026
    """
    several = log(q.queries / q.beta)
    if q.delta:
        return sqrt(several * sqrt(log(q.cells) * log(1 / q.delta)) / (q.rows * q.epsilon))
    return float((log(q.cells) * several / (q.rows * q.epsilon)) ** (1 / 3))
